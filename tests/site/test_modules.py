#!/usr/bin/env python3
"""The module files turn the recording on and off, with Environment Modules and with Lmod. Speaks TAP."""
import os
import re
import shutil
import subprocess
import unittest

from site_case import SiteCase, harness

MODULECMD = next((path for path in ('/usr/lib/x86_64-linux-gnu/modulecmd.tcl', '/usr/share/modules/libexec/modulecmd.tcl')
                  if os.path.exists(path)), None) or shutil.which('modulecmd')
LMOD_PACKAGES = ('lmod', 'lua5.3', 'lua-filesystem', 'lua-posix', 'lua-term', 'lua-json', 'lua-lpeg')


class ModuleTest(SiteCase):
    def setUp(self):
        super().setUp()
        # As an installation: the module files know only its prefix.
        self.prefix = self.path('prefix')
        os.makedirs(os.path.join(self.prefix, 'lib/ioseer'))
        os.makedirs(os.path.join(self.prefix, 'bin'))
        shutil.copy(harness.IOSEER, os.path.join(self.prefix, 'bin/ioseer'))
        shutil.copy(os.path.join(harness.BUILD, 'src/rec/libioseer.so'), os.path.join(self.prefix, 'lib/ioseer'))
        self.modules = self.path('modules')
        os.makedirs(os.path.join(self.modules, 'ioseer'))
        for source, name in (('ioseer.tcl', '1'), ('ioseer.lua', '1.lua')):
            shutil.copy(os.path.join(harness.SOURCE, 'packaging/modules', source), os.path.join(self.modules, 'ioseer', name))
        self.plain.update(IOSEER_PREFIX=self.prefix, IOSEER_LOGS=self.logs, MODULEPATH=self.modules)

    def check(self, command):
        """`command`: prints lines for sh."""
        done = harness.run('bash', '-c', f'''
module() {{ eval "$({command} "$@")"; }}
module load ioseer && (echo x > one; cat one > two) ; sh -c 'echo x > three; cat three' && module unload ioseer
sh -c 'echo y > four'
echo "[$LD_PRELOAD][$IOSEER_LOG_DIR]"''', env=self.plain, cwd=self.folder)
        self.assertEqual((done.returncode, done.stdout), (0, b'x\n[][]\n'), done.stderr)
        names = {os.path.basename(file['name']) for log in self.found() for file in self.json('info', '--json', log)['files']}
        self.assertLessEqual({'two', 'three'}, names)
        self.assertNotIn('four', names)

    @unittest.skipUnless(MODULECMD, 'no Environment Modules')
    def test_environment_modules(self):
        os.remove(os.path.join(self.modules, 'ioseer/1.lua'))
        self.check(f'{MODULECMD} sh' if MODULECMD.endswith('modulecmd') else f'tclsh {MODULECMD} sh')

    def lmod(self):
        """Lmod, which conflicts with the other, from its package without installing it."""
        if os.path.exists('/usr/share/lmod/lmod/libexec/lmod'):
            return '/usr/share/lmod/lmod/libexec/lmod sh'
        root, folder = self.path('root'), self.path('packages')
        os.mkdir(folder)
        got = subprocess.run(['apt-get', '-q', 'download', *LMOD_PACKAGES], cwd=folder, capture_output=True, timeout=120, check=False)
        if got.returncode:
            self.skipTest('Lmod is not installed, and its package cannot be had')
        for package in os.listdir(folder):
            subprocess.run(['dpkg', '-x', os.path.join(folder, package), root], check=True)
        lmod = f'{root}/usr/share/lmod/lmod/libexec/lmod'
        with open(lmod, encoding='utf-8') as script:
            text = script.read()
        with open(lmod, 'w', encoding='utf-8') as script:  # it knows where Lua's libraries are
            script.write(re.sub(r'(?<=[";])/usr/(?=share|lib)', f'{root}/usr/', text))
        return f'{root}/usr/bin/lua5.3 {lmod} sh'

    @unittest.skipUnless(shutil.which('dpkg'), 'no dpkg')
    def test_lmod(self):
        os.remove(os.path.join(self.modules, 'ioseer/1'))
        self.check(self.lmod())


if __name__ == '__main__':
    harness.main()
