-- Lmod: records every program that is started while the module is loaded, without `ioseer record`.
-- Copy it to a folder of MODULEPATH as ioseer/VERSION.lua. `ioseer` is where ioseer is, `logs` the folder for the logs;
-- without `logs` they go where ioseer.conf says.
local ioseer = os.getenv("IOSEER_PREFIX") or "/usr/local"
local logs = os.getenv("IOSEER_LOGS") or ""

help("Records what programs do to files. See ioseer-env(1), ioseer.conf(5).")
whatis("Description: records what programs do to files")

prepend_path("PATH", pathJoin(ioseer, "bin"))
append_path("LD_PRELOAD", pathJoin(ioseer, "lib/ioseer/libioseer.so"))
setenv("IOSEER_PROGRAM", pathJoin(ioseer, "bin/ioseer"))
if logs ~= "" then
   setenv("IOSEER_LOG_DIR", logs)
end
