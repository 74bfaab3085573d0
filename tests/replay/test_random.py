#!/usr/bin/env python3
"""test_random.py [--seeds FIRST-LAST | --seconds N | --minimise SEED]: replays of random programs end and do the same.

Two run at a time. A failure prints the seed, the first difference and the list of actions. With --minimise, actions are
left out as long as the replay of a seed fails.
"""
import argparse
import concurrent.futures
import itertools
import sys
import time

sys.dont_write_bytecode = True

import random_case  # noqa: E402

AT_ONCE = 2


def check(seed):
    case = random_case.Case(seed)
    failure = random_case.failure_of(case)
    return seed, failure and f'{case}: {failure}\n{case.list_actions()}'


def check_all(seeds, end):
    """The number of seeds and of failures; begins none after the end."""
    count = failed = 0
    waiting = iter(seeds)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        running = {pool.submit(check, seed) for seed in itertools.islice(waiting, AT_ONCE)}
        while running:
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for seed, failure in (task.result() for task in done):
                count += 1
                failed += failure is not None
                print(f'{"not ok" if failure else "ok"} {count} - seed {seed}', flush=True)
                for line in (failure or '').split('\n'):
                    print('#', line) if line else None
            more = itertools.islice(waiting, len(done)) if time.monotonic() < end else ()
            running |= {pool.submit(check, seed) for seed in more}
    return count, failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--seeds', default='0-199')
    parser.add_argument('--seconds', type=float)
    parser.add_argument('--minimise', type=int)
    words = parser.parse_args()
    if not random_case.mpis():
        print('1..0 # SKIP no MPI')
        return 0
    if words.minimise is not None:
        case = random_case.minimise(random_case.Case(words.minimise))
        print(case, random_case.failure_of(case), case.list_actions(), sep='\n')
        return 0
    first, _, last = words.seeds.partition('-')
    seeds = range(int(first), int(last or first) + 1)
    end = float('inf')
    if words.seconds:  # others each time
        seeds, end = itertools.count(int(time.time()) * 1000), time.monotonic() + words.seconds
    count, failed = check_all(seeds, end)
    print(f'1..{count}')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
