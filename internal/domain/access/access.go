// Package access says who may do what: people, roles, tokens and workspaces.
package access

import "slices"

// Scope is the workspace that a call may see. Every function of the store takes
// one, so that a query cannot forget it. The zero Scope sees nothing.
type Scope struct{ workspace string }

// In returns the scope of one workspace.
func In(workspaceID string) Scope { return Scope{workspaceID} }

// Workspace returns the id of the scope's workspace.
func (s Scope) Workspace() string { return s.workspace }

// Role is what somebody may do in a workspace. Each role may do all that the
// one before it may.
type Role string

const (
	Viewer   Role = "viewer"   // reads
	Operator Role = "operator" // also runs, edits, resolves
	Admin    Role = "admin"    // also people, tokens, agents, providers, secrets, devices
)

// Roles lists the roles from the least to the most.
var Roles = []Role{Viewer, Operator, Admin}

// Valid reports whether r is a role.
func (r Role) Valid() bool { return slices.Contains(Roles, r) }

// AtLeast reports whether r may do what min may. An unknown role may do nothing.
func (r Role) AtLeast(min Role) bool {
	have, want := slices.Index(Roles, r), slices.Index(Roles, min)
	return want >= 0 && have >= want
}

// Least returns the lesser of two roles: a token's role is at most its owner's.
// Beside a role that there is not, nothing is left.
func Least(a, b Role) Role {
	switch {
	case !a.Valid() || !b.Valid():
		return ""
	case a.AtLeast(b):
		return b
	}
	return a
}

// ActorKind is the kind of somebody who does something.
type ActorKind string

const (
	Person ActorKind = "person"
	Token  ActorKind = "token" // a program with an API token
	Agent  ActorKind = "agent"
	System ActorKind = "system"
)

// Actor is somebody who does something: written beside each change.
type Actor struct {
	Kind ActorKind `json:"kind"`
	ID   string    `json:"id,omitempty"` // "" for the system
}

// House is the actor of what Dogwatch does by itself.
var House = Actor{Kind: System}

// Human reports whether a person is behind the act: at the dashboard, or through
// a program that a person gave a token to. Their comments are feedback to an agent.
func (a Actor) Human() bool { return a.Kind == Person || a.Kind == Token }

// Caller is a signed-in actor in one workspace.
type Caller struct {
	Actor
	PersonID string // the person, or the owner of the token
	Role     Role
	Scope    Scope
	Timezone string // the person's, "" when not set
}
