CASES = []
def check(where, case): return []
