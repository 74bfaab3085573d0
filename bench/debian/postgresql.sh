# A database is made, used by four clients at once, and stopped.
set -e
PATH=$PATH:$(echo /usr/lib/postgresql/*/bin)
initdb -D db -A trust -N
echo "unix_socket_directories = '$PWD'" >> db/postgresql.conf
echo "listen_addresses = ''" >> db/postgresql.conf
pg_ctl -D db -l log -w start
pgbench -h "$PWD" -i -s 1 postgres
pgbench -h "$PWD" -c 4 -t 50 postgres
pg_ctl -D db -w stop
