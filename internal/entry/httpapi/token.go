package httpapi

import (
	"context"
	"slices"
	"strings"

	"github.com/dogwatch/dogwatch/internal/base/errs"
	"github.com/dogwatch/dogwatch/internal/base/id"
	"github.com/dogwatch/dogwatch/internal/domain/access"
	"github.com/dogwatch/dogwatch/internal/infra/store"
)

// Token lets a program in.
type Token struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	Role       access.Role `json:"role" enum:"viewer,operator,admin"`
	Scopes     []string    `json:"scopes" doc:"What it is limited to; none: all that its role may"`
	Prefix     string      `json:"prefix" doc:"How the secret begins"`
	OwnerID    string      `json:"ownerId"`
	ExpiresAt  *Time       `json:"expiresAt" nullable:"true"`
	LastUsedAt *Time       `json:"lastUsedAt" nullable:"true"`
	CreatedAt  Time        `json:"createdAt"`
	Token      string      `json:"token,omitempty" doc:"The secret: in the first answer to its creation and never again"`
}

func tokenOf(t store.Token) Token {
	return Token{
		ID: t.ID, Name: t.Name, Role: t.Role, Scopes: orNone(t.Scopes), Prefix: t.Prefix, OwnerID: t.PersonID,
		ExpiresAt: timeOf(t.ExpiresAt), LastUsedAt: timeOf(t.LastUsedAt), CreatedAt: Time{t.CreatedAt},
	}
}

// TokenCreate is what a token is made of.
type TokenCreate struct {
	Name      string      `json:"name" minLength:"1" maxLength:"200" doc:"What it is for"`
	Role      access.Role `json:"role" enum:"viewer,operator,admin" doc:"At most yours"`
	ExpiresAt *Time       `json:"expiresAt,omitempty" doc:"When it ends, in the future; absent: never"`
	Scopes    []string    `json:"scopes,omitempty" maxItems:"50" doc:"Nouns of the API (tasks, briefs, …), with :read for reading only"`
}

type tokenOut struct{ Body Token }

// ByID is an address by an id.
type ByID struct {
	ID string `path:"id" maxLength:"100" doc:"Its id"`
}

func (s *Server) tokenRoutes() {
	add(s, route{method: "GET", path: "/tokens", name: "listTokens", noun: "tokens", role: access.Admin, does: "The API tokens of the workspace"},
		func(ctx context.Context, in *Paging) (*listOut[Token], error) {
			p, err := s.page(ctx, *in)
			if err != nil {
				return nil, err
			}
			items, next, err := s.Store.Tokens(ctx, caller(ctx).Scope, p)
			return listed(ctx, s, items, next, tokenOf), err
		})
	add(s, route{
		method: "POST", path: "/tokens", name: "createToken", noun: "tokens", role: access.Admin, status: 201, once: true, secret: []string{"token"},
		does: "Make an API token",
	}, s.createToken)
	add(s, route{method: "DELETE", path: "/tokens/{id}", name: "deleteToken", noun: "tokens", role: access.Admin, does: "Make a token useless"},
		func(ctx context.Context, in *ByID) (*struct{}, error) {
			c := caller(ctx)
			return nil, s.Store.InTx(ctx, func(tx *store.Tx) error {
				if err := tx.DeleteToken(ctx, c.Scope, in.ID); err != nil {
					return err
				}
				return tx.Audit(ctx, c.Scope, store.AuditEntry{Actor: c.Actor, Action: "token.delete", SubjectKind: "token", SubjectID: in.ID})
			})
		})
}

func (s *Server) createToken(ctx context.Context, in *struct{ Body TokenCreate }) (*tokenOut, error) {
	c, b := caller(ctx), in.Body
	if !c.Role.AtLeast(b.Role) {
		return nil, errs.New(errs.Forbidden, "forbidden", "A token's role is at most its owner's, and yours is %s.", c.Role)
	}
	if limits := whoOf(ctx).scopes; len(limits) > 0 && (len(b.Scopes) == 0 || slices.ContainsFunc(b.Scopes, func(scope string) bool { return !slices.Contains(limits, scope) })) {
		return nil, errs.New(errs.Forbidden, "forbidden", "A limited token makes tokens within its own limits only.")
	}
	for _, scope := range b.Scopes {
		if !slices.Contains(s.nouns(), strings.TrimSuffix(scope, ":read")) {
			return nil, errs.BadField("body.scopes", "invalid", scope, "There is no scope %q. Use one of %s, with :read for reading only.", scope, strings.Join(s.nouns(), ", "))
		}
	}
	now, err := s.Store.Clock(ctx)
	if err != nil {
		return nil, err
	}
	if b.ExpiresAt != nil && !b.ExpiresAt.After(now) {
		return nil, errs.BadField("body.expiresAt", "invalid", b.ExpiresAt.Format(timeFormat), "This time is over.")
	}
	secret := access.TokenPrefix + id.Secret(32)
	var t store.Token
	err = s.Store.InTx(ctx, func(tx *store.Tx) (err error) {
		t, err = tx.CreateToken(ctx, c.Scope, store.Token{
			PersonID: c.PersonID, Name: b.Name, Role: b.Role, Scopes: orNone(b.Scopes), Prefix: access.Shown(secret), ExpiresAt: b.ExpiresAt.std(),
		}, access.HashSecret(secret))
		if err != nil {
			return err
		}
		return tx.Audit(ctx, c.Scope, store.AuditEntry{
			Actor: c.Actor, Action: "token.create", SubjectKind: "token", SubjectID: t.ID, Detail: map[string]any{"name": t.Name, "role": t.Role},
		})
	})
	if err != nil {
		return nil, err
	}
	out := &tokenOut{tokenOf(t)}
	out.Body.Token = secret
	return out, nil
}

// nouns lists what operations are about.
func (s *Server) nouns() []string {
	var out []string
	for _, item := range s.api.OpenAPI().Paths {
		for _, op := range operations(item) {
			if len(op.Tags) > 0 && !slices.Contains(out, op.Tags[0]) {
				out = append(out, op.Tags[0])
			}
		}
	}
	slices.Sort(out)
	return out
}
