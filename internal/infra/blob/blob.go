// Package blob keeps bytes under the hash of their content: what people upload,
// and later traces and snapshots. The same bytes are kept once.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
)

// Info is what is known of a blob.
type Info struct {
	SHA256 string // in hexadecimal, its name
	Size   int64
}

// Dir keeps blobs in a directory of the host. Several processes may share one.
type Dir struct {
	root *os.Root // nothing outside is reached, whatever a name says
}

// Open opens a directory, which is made when it is not there.
func Open(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of files: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("open the directory of files: %w", err)
	}
	if err := root.Mkdir(incoming, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the directory of files: %w", err)
	}
	return &Dir{root}, nil
}

// Close gives the directory back.
func (d *Dir) Close() error { return d.root.Close() }

// incoming holds what is still being written. A leftover of a crash is harmless.
const incoming = "incoming"

// Put reads r to its end and keeps what it read. More than limit bytes are
// refused with errs.TooLarge, and nothing is kept.
func (d *Dir) Put(ctx context.Context, r io.Reader, limit int64) (Info, error) {
	tmp, f, err := d.temporary()
	if err != nil {
		return Info{}, err
	}
	defer func() {
		_ = f.Close()
		_ = d.root.Remove(tmp) // gone already when all went well
	}()
	hash := sha256.New()
	size, err := io.Copy(io.MultiWriter(f, hash), io.LimitReader(&reader{ctx, r}, limit+1))
	if err != nil {
		return Info{}, fmt.Errorf("receive a file: %w", err)
	}
	if size > limit {
		return Info{}, errs.New(errs.TooLarge, "too_large", "The file is larger than %d MiB.", limit>>20)
	}
	// The row that names the blob is written next and survives a power cut, so the
	// bytes have to as well.
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return Info{}, fmt.Errorf("keep a file: %w", err)
	}
	info := Info{hex.EncodeToString(hash.Sum(nil)), size}
	name := place(info.SHA256)
	if err := d.root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return Info{}, fmt.Errorf("keep a file: %w", err)
	}
	if err := d.root.Rename(tmp, name); err != nil {
		return Info{}, fmt.Errorf("keep a file: %w", err)
	}
	return info, d.syncDir(filepath.Dir(name))
}

// Open returns the bytes of a blob. It is errs.NotFound when there is none.
func (d *Dir) Open(_ context.Context, sha string) (io.ReadSeekCloser, error) {
	if raw, err := hex.DecodeString(sha); err != nil || len(raw) != sha256.Size {
		return nil, errs.Missing("file", sha)
	}
	f, err := d.root.Open(place(sha))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errs.Missing("file", sha)
	}
	if err != nil {
		return nil, fmt.Errorf("open a file: %w", err)
	}
	return f, nil
}

// place spreads blobs over 256 directories: some file systems grow slow with
// many files in one.
func place(sha string) string { return filepath.Join(sha[:2], sha) }

func (d *Dir) temporary() (string, *os.File, error) {
	name := filepath.Join(incoming, id.New())
	f, err := d.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", nil, fmt.Errorf("receive a file: %w", err)
	}
	return name, f, nil
}

func (d *Dir) syncDir(name string) error {
	dir, err := d.root.Open(name)
	if err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	return nil
}

// reader stops reading when whoever waits for it has gone.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
