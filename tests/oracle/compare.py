def check(where, case): return []
