package password

import (
	"context"
	"strings"
	"testing"
)

func matches(t *testing.T, hash, password string) bool {
	t.Helper()
	ok, err := Matches(t.Context(), hash, password)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestAPasswordMatchesItsHashOnly(t *testing.T) {
	hash, err := Hash(t.Context(), "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("the hash does not say how it was made: %s", hash)
	}
	if !matches(t, hash, "correct horse battery") {
		t.Error("the password does not match its hash")
	}
	if matches(t, hash, "correct horse batterz") || matches(t, hash, "") {
		t.Error("another password matches")
	}
	if again, _ := Hash(t.Context(), "correct horse battery"); again == hash {
		t.Error("two accounts with one password have one hash")
	}
}

func TestAHashThatCannotBeReadMatchesNothing(t *testing.T) {
	good, err := Hash(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, hash := range []string{
		"", "x", "$argon2id$", "$argon2i$v=19$m=64,t=1,p=1$AAAA$AAAA", "$argon2id$v=18$m=64,t=1,p=1$AAAA$AAAA",
		"$argon2id$v=19$m=64,t=0,p=1$AAAA$AAAA", "$argon2id$v=19$m=64,t=1,p=0$AAAA$AAAA",
		"$argon2id$v=19$m=64,t=1,p=1$AAAA$", "$argon2id$v=19$m=64,t=1,p=1$!$AAAA", good + "$",
	} {
		if matches(t, hash, "x") {
			t.Errorf("%q matches", hash)
		}
	}
}

func TestWhoeverHasGoneIsNotComputedFor(t *testing.T) {
	slots <- struct{}{}
	slots <- struct{}{}
	defer func() { <-slots; <-slots }()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Hash(gone, "x"); err == nil {
		t.Error("hashed beyond the bound")
	}
}
