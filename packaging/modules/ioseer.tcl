#%Module1.0
# Environment Modules: records every program that is started while the module is loaded, without `ioseer record`.
# Copy it to a folder of MODULEPATH as ioseer/VERSION. IOSEER is where ioseer is, LOGS the folder for the logs; without
# LOGS they go where ioseer.conf says.
set ioseer   /usr/local
set logs     ""

if {[info exists ::env(IOSEER_PREFIX)]} { set ioseer $::env(IOSEER_PREFIX) }
if {[info exists ::env(IOSEER_LOGS)]}   { set logs $::env(IOSEER_LOGS) }

proc ModulesHelp {} {
    puts stderr "Records what programs do to files. See ioseer-env(1), ioseer.conf(5)."
}
module-whatis "records what programs do to files"

prepend-path PATH       $ioseer/bin
append-path  LD_PRELOAD $ioseer/lib/ioseer/libioseer.so
setenv       IOSEER_PROGRAM $ioseer/bin/ioseer
if {$logs ne ""} { setenv IOSEER_LOG_DIR $logs }
