# Completion of ioseer for fish. completion/generate fills in the tables.

# The options of the verb that take a value.
function __ioseer_valued
    switch $argv[1]
@VALUED@
    end
end

# The verb and the words after it that are neither options nor their values.
function __ioseer_words
    set -l words (commandline -opc)
    set -l verb
    set -l skip 0
    for word in $words[2..]
        if test $skip = 1
            set skip 0
        else if not string match -q -- '-*' $word
            set -q verb[1]; or set verb $word
            echo -- $word
        else if contains -- $word (__ioseer_valued $verb)
            set skip 1
        end
    end
end

function __ioseer_is_first
    not set -l words (__ioseer_words); or not set -q words[1]
end

function __ioseer_is
    set -l words (__ioseer_words)
    test "$words[1]" = $argv[1]
end

# N [or more]: whether N words follow the verb.
function __ioseer_at
    set -l count (math (count (__ioseer_words)) - 1)
    test $count -eq $argv[1]; or test (count $argv) -gt 1 -a $count -gt $argv[1]
end

# Files with one of these endings and folders; all files if none has.
function __ioseer_files
    set -l all (__fish_complete_path (commandline -ct))
    set -l found (string match -r -- '^[^\t]*\.(?:'(string join '|' $argv)')(?:\t.*)?$' $all)
    if set -q found[1]
        printf '%s\n' $found (string match -r -- '^[^\t]*/(?:\t.*)?$' $all)
    else
        printf '%s\n' $all
    end
end

function __ioseer_stack
    ioseer stack list 2>/dev/null | cut -f1
end

function __ioseer_table
    ioseer query --tables 2>/dev/null | string match -rg '^([a-z_]+):'
end

# The command that `record` runs, as if it stood alone.
function __ioseer_command
    set -l words (commandline -opc)
    set -l command (__ioseer_words)
    set -l rest
    if set -l at (contains -i -- -- $words)
        set rest $words[(math $at + 1)..]
    else if set -q command[2]
        set -l at (contains -i -- $command[2] $words)
        set rest $words[$at..]
    else if string match -q -- '-*' (commandline -ct)
        return
    end
    complete -C"$(string join ' ' -- (string escape -- $rest) (commandline -ct))"
end

complete -c ioseer -f
@OWN@
@NAMES@
@VERBS@
