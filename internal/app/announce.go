package app

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/config"
	"github.com/dogwatch/dogwatch/internal/infra/llm"
)

// resolveLimit is how long the start waits for a provider to name its model.
const resolveLimit = 2 * time.Second

// announce tells the person who started the process how to get in: everything
// at the first start, later the address and the model.
func (p *parts) announce(ctx context.Context, out io.Writer, base string, took time.Duration) error {
	first, err := firstCredentials(ctx, p.store, p.bootstrapped)
	if err != nil {
		return fmt.Errorf("make the first sign-in: %w", err)
	}
	var b strings.Builder
	if len(p.inside) > 0 {
		fmt.Fprintf(&b, "✓ %s inside · ", strings.Join(p.inside, " and "))
	} else {
		b.WriteString("✓ ")
	}
	fmt.Fprintf(&b, "ready in %.1f s · model %s\n", took.Seconds(), p.model(ctx))
	if first == nil {
		fmt.Fprintf(&b, "→ %s\n", base)
	} else {
		fmt.Fprintf(&b, "→ open %s%s  (signs you in once; no password to copy)\n", base, first.Link)
		fmt.Fprintf(&b, "  address      %s\n", base)
		secret := "the password you configured"
		if first.Password != "" {
			secret = "password " + first.Password + "  (shown only now)"
		}
		fmt.Fprintf(&b, "  sign in      %s, %s\n", first.Email, secret)
		fmt.Fprintf(&b, "  admin token  in %s\n", filepath.Join(p.cfg.Data, config.AdminTokenFile))
	}
	_, err = io.WriteString(out, b.String())
	return err
}

// model says which model works for agents that name none, and how to get a real
// one.
func (p *parts) model(ctx context.Context) string {
	if len(p.cfg.Models.Providers) == 0 {
		return llm.OfflineModel + " (no key; set OPENAI_API_KEY or ANTHROPIC_API_KEY for a real one, or OPENAI_BASE_URL for a server of your own)"
	}
	ctx, cancel := context.WithTimeout(ctx, resolveLimit)
	defer cancel()
	name, err := p.models.Resolve(ctx, "")
	if err != nil {
		return fmt.Sprintf("%s (its provider does not answer yet: %v)", p.models.Default(), err)
	}
	if name == llm.OfflineModel {
		return name + " (as configured; it extracts, it does not think)"
	}
	return name
}
