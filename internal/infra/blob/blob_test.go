package blob

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

func open(t *testing.T) (*Dir, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "blobs")
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d, path
}

// files counts what is kept, leftovers of writing included.
func files(t *testing.T, path string) (n int) {
	t.Helper()
	err := filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestBytesComeBackByTheirHash(t *testing.T) {
	d, path := open(t)
	var wg sync.WaitGroup
	for range 4 { // the same bytes at once, from several people
		wg.Go(func() {
			info, err := d.Put(t.Context(), strings.NewReader("hello"), 5)
			if err != nil || info.Size != 5 || info.SHA256 != "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824" {
				t.Errorf("got %+v, %v", info, err)
			}
		})
	}
	wg.Wait()
	f, err := d.Open(t.Context(), "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); string(b) != "hello" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	if n := files(t, path); n != 1 {
		t.Errorf("%d files are kept, want one", n)
	}
}

func TestNothingIsKeptOfWhatIsRefused(t *testing.T) {
	d, path := open(t)
	if _, err := d.Put(t.Context(), bytes.NewReader(make([]byte, 11)), 10); errs.KindOf(err) != errs.TooLarge {
		t.Errorf("too many bytes: %v", err)
	}
	if _, err := d.Put(t.Context(), io.MultiReader(strings.NewReader("ab"), broken{}), 10); err == nil {
		t.Error("half a file was kept")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.Put(gone, strings.NewReader("x"), 10); err == nil {
		t.Error("a file of somebody who left was kept")
	}
	if n := files(t, path); n != 0 {
		t.Errorf("%d files are left over", n)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestANameCannotLeaveTheDirectory(t *testing.T) {
	d, path := open(t)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "..", "../secret", "/etc/passwd", "incoming", strings.Repeat("ab", 31), strings.Repeat("..", 32), strings.Repeat("ab", 32)} {
		if _, err := d.Open(t.Context(), name); errs.KindOf(err) != errs.NotFound {
			t.Errorf("%q: %v, want not found", name, err)
		}
	}
}
