// Package scratch finds the place for a test's throw-away files. A Postgres
// cluster is more than a thousand small files, and making those on a disk can
// take longer than the test.
package scratch

import "os"

// Root is the directory to make temporary directories in: memory where there is
// plenty, else the system's place for them. Every account may enter it, which
// t.TempDir does not promise.
func Root() string {
	if roomInMemory("/dev/shm") {
		return "/dev/shm"
	}
	return os.TempDir()
}
