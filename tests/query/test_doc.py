"""doc/sql.md: its schema is that of the program, and each of its statements works on real logs."""
import os
import re
import subprocess
import sys

import logs
from logs import harness

PAGE = os.path.join(harness.SOURCE, 'doc', 'sql.md')
QUESTION = re.compile(r'^### (\d+)\. ([^\n]+)\n\n```sql\n(.+?)\n```\n\n```\n(.+?)```$', re.M | re.S)


def page():
    with open(PAGE, encoding='utf-8') as text:
        return text.read()


class Schema(harness.CommandLineTest):
    def test_it_is_that_of_the_program(self):
        made = subprocess.run([sys.executable, os.path.join(harness.SOURCE, 'tools', 'sql-schema'), harness.IOSEER], check=True,
                              stdout=subprocess.PIPE).stdout.decode()
        self.assertTrue(page().endswith('-->\n' + made), 'run tools/sql-schema build/ioseer doc/sql.md')


class Questions(logs.QueryTest):
    def test_all_are_there(self):
        found = QUESTION.findall(page())
        self.assertEqual([int(number) for number, *_ in found], list(range(1, len(found) + 1)))
        self.assertGreaterEqual(len(found), 20)
        self.assertEqual(page().count('```sql'), len(found))

    def test_each_has_an_answer(self):
        answered = set()
        for log in self.each_log():
            for number, question, statement, answer in QUESTION.findall(page()):
                with self.subTest(question=question):
                    found = self.json('query', log, '--json', '--sql', statement)
                    self.assertEqual(found['columns'], answer.split('\n')[0].split())
                    if found['rows']:
                        answered.add(int(number))
        missing = {int(number) for number, *_ in QUESTION.findall(page())} - answered
        self.assertLessEqual(missing, {2, 8, 12, 13, 20}, 'with MPI and a stack, all have one')


harness.main()
