package embedded

import "strconv"

// socketPort only names the socket file; nothing listens on TCP.
const socketPort = 5432

// settings are the server settings as "name=value". Durability is never
// touched for real data: fsync, full_page_writes and synchronous_commit stay
// on, and what is gained comes from fewer processes and larger checkpoints.
func settings(major int, socketDir string, throwaway bool) []string {
	s := []string{
		// Reachable by this account through a socket and by nobody else.
		"listen_addresses=",
		"unix_socket_directories=" + socketDir,
		"unix_socket_permissions=0700",
		"port=" + strconv.Itoa(socketPort),
		// API, worker and listener pools of one process need a few dozen.
		"max_connections=100",
		"shared_buffers=64MB",
		"huge_pages=off",
		// Nothing replicates from here: no senders, no launcher process, the
		// least WAL.
		"wal_level=minimal",
		"max_wal_senders=0",
		"max_logical_replication_workers=0",
		// Our queries touch few rows each; parallel workers would cost
		// processes and /dev/shm, which containers keep at 64 MB.
		"max_parallel_workers_per_gather=0",
		"max_parallel_maintenance_workers=0",
		"jit=off",
		// Full-page images are most of the WAL of small transactions: compress
		// them and have few checkpoints.
		"wal_compression=on",
		"checkpoint_timeout=15min",
		"max_wal_size=1GB",
		"min_wal_size=80MB",
		"random_page_cost=1.1",
		// The job table is small and rewritten all the time.
		"autovacuum_max_workers=2",
		"autovacuum_naptime=30s",
		"autovacuum_vacuum_scale_factor=0.05",
		// A forgotten transaction holds locks and stops vacuum.
		"idle_in_transaction_session_timeout=60s",
		"timezone=UTC",
		"log_timezone=UTC",
		"lc_messages=C", // start-up failures are recognised by their text
		"log_min_duration_statement=1s",
		"log_checkpoints=off",
		// The log is for operators; what people wrote does not belong there.
		"log_min_error_statement=panic",
		"log_error_verbosity=terse",
		"log_parameter_max_length=0",
		"log_line_prefix=%m [%p] ",
	}
	if major >= 18 {
		s = append(s, "io_method=sync") // three I/O workers fewer
	}
	if throwaway {
		// Safe only for data that nobody misses after a power cut. A killed
		// process loses nothing: the kernel keeps what was written.
		// synchronous_commit stays on, because off loses commits at a kill.
		s = append(s, "fsync=off", "full_page_writes=off", "autovacuum_naptime=60s", "log_min_duration_statement=-1")
	}
	return s
}
