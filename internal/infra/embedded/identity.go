//go:build !windows

package embedded

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// identity is who the Postgres processes run as. Postgres refuses to be root;
// an ordinary user's processes stay that user's.
//
// For root there are two ways. An unprivileged account is the cleaner one but
// must be able to enter every directory above the data and the programs, which
// it cannot below /root. A user namespace in which our files belong to user
// 1000 works there too, but hardened kernels and containers forbid it.
type identity struct {
	account   string // the account root drops to; "" for none
	uid, gid  int    // owner of the files on disk
	namespace bool
}

func (id identity) String() string {
	switch {
	case id.namespace:
		return "an unprivileged user namespace"
	case id.account != "":
		return "account " + id.account
	}
	return "this user"
}

// chooseIdentity picks the identity for a cluster directory and programs. What
// is on disk is given to it afterwards, so it may change from start to start.
func chooseIdentity(ctx context.Context, dir, data string, bin Binaries) (identity, error) {
	self := identity{uid: os.Geteuid(), gid: os.Getegid()}
	if self.uid != 0 {
		return self, nil
	}
	account := unprivilegedAccount()
	order := []identity{account, {namespace: true}}
	if uid, gid, err := owner(data); err == nil && uid != 0 && uid != account.uid {
		// Somebody's who is not root: leave it theirs.
		order = append([]identity{{account: "#" + strconv.Itoa(uid), uid: uid, gid: gid}}, order...)
	}
	for _, id := range order {
		if id.namespace {
			c := exec.CommandContext(ctx, filepath.Join(bin.Dir, "postgres"), "--version")
			c.SysProcAttr = procAttr(id, syscall.SIGKILL)
			c.Dir = "/"
			if c.Run() == nil {
				return id, nil
			}
		} else if canEnter(id, filepath.Dir(dir)) && canEnter(id, bin.Dir) {
			return id, nil
		}
	}
	return identity{}, &StartError{
		Dependency: "postgres",
		Problem: fmt.Sprintf("Postgres does not run as root, account %s cannot enter the directories above %s or %s, and user namespaces are not allowed here",
			account.account, dir, bin.Dir),
		Try: "run dogwatch as an ordinary user, --data below a directory that others may enter (/var/lib/dogwatch), or DOGWATCH_DATABASE_URL",
		Err: ErrNoIdentity,
	}
}

func unprivilegedAccount() identity {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil && uid != 0 {
			return identity{account: name, uid: uid, gid: gid}
		}
	}
	return identity{account: "nobody", uid: 65534, gid: 65534} // the kernel's overflow id
}

// canEnter reports whether id may search path and every directory above it,
// by owner, group and other bits (supplementary groups and ACLs are not asked).
func canEnter(id identity, path string) bool {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	for {
		st, err := os.Stat(path)
		if err != nil {
			return false
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if !ok {
			return false
		}
		need := fs.FileMode(0o001)
		switch {
		case int(sys.Uid) == id.uid:
			need = 0o100
		case int(sys.Gid) == id.gid:
			need = 0o010
		}
		if st.Mode()&need == 0 {
			return false
		}
		up := filepath.Dir(path)
		if up == path {
			return true
		}
		path = up
	}
}

func owner(path string) (uid, gid int, err error) {
	st, err := os.Lstat(path)
	if err != nil {
		return 0, 0, err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, fmt.Errorf("the owner of %s is not known", path)
	}
	return int(sys.Uid), int(sys.Gid), nil
}

// own gives path and all below it to id. The top goes last, so that an
// interrupted change is seen and repeated.
func (id identity) own(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	if uid, gid, err := owner(path); err != nil {
		return err
	} else if uid == id.uid && gid == id.gid {
		return nil
	}
	err := filepath.WalkDir(path, func(p string, _ fs.DirEntry, err error) error {
		if err != nil || p == path {
			return err
		}
		return os.Lchown(p, id.uid, id.gid)
	})
	if err != nil {
		return fmt.Errorf("giving %s to %s: %w", path, id, err)
	}
	return os.Lchown(path, id.uid, id.gid)
}

// childEnv is all that the Postgres programs see of our environment: nothing,
// so that PGDATA, PGPORT or a foreign locale change nothing.
func childEnv(home string) []string {
	return []string{"PATH=/usr/bin:/bin", "LC_ALL=C", "TZ=UTC", "HOME=" + home}
}

// tail returns the end of a program's output for an error message.
func tail(s string) string {
	const most = 800
	s = strings.TrimSpace(s)
	if len(s) > most {
		s = "…" + s[len(s)-most:]
	}
	return s
}
