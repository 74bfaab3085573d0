# Meson builds. This file only gives the usual commands their usual names.

BUILD ?= build
PREFIX ?= /usr/local
TIME ?= 600

.DEFAULT_GOAL := all
.NOTPARALLEL: # what is missing is installed first, then configured, then built; ninja uses all cores by itself
.PHONY: all build-setup test-setup configured demo check install deb bench fuzz format clean help

all: build-setup configured
	@ninja -C '$(BUILD)'

build-setup:
	@tools/setup build

test-setup:
	@tools/setup build test

configured:
	@tools/configure '$(BUILD)'

demo: build-setup configured
	@ninja -C '$(BUILD)' programs examples/checkpoint
	@tools/demo '$(BUILD)'

check: test-setup configured
	@tools/run-tests '$(BUILD)'

install: build-setup configured
	@meson configure '$(BUILD)' --prefix "$$(realpath -ms '$(PREFIX)')"
	@DESTDIR="$${DESTDIR:+$$(realpath -ms "$$DESTDIR")}" meson install -C '$(BUILD)'

deb:
	@tools/setup build package
	@tools/deb '$(BUILD)/deb'

bench: test-setup configured
	@ninja -C '$(BUILD)'
	@bench/run '$(BUILD)'

fuzz: test-setup configured
	@ninja -C '$(BUILD)'
	@IOSEER_BUILD='$(abspath $(BUILD))' tests/replay/test_random.py --seconds $(TIME)
	@tests/fuzz/run '$(BUILD)-fuzz' $(TIME)

format:
	@tools/setup test
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	rm -rf '$(BUILD)' '$(BUILD)-fuzz'

help:
	@echo 'make           install what is missing, build; then $(BUILD)/ioseer runs from the tree'
	@echo 'make demo      build, record a small program and show what was seen'
	@echo 'make check     build and run all tests; the last line is the tally'
	@echo 'make install   PREFIX=/usr/local DESTDIR= install programs, libraries, man pages'
	@echo 'make deb       Debian packages, in $(BUILD)/deb/*.deb'
	@echo 'make bench     what recording costs and how fast logs are read, on this machine'
	@echo 'make fuzz      TIME=600 fuzz replays and readers, so many seconds each'
	@echo 'make format    clang-format all sources'
	@echo 'make clean     remove the build directories'
