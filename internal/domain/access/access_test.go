package access

import "testing"

func TestRolesAreALadder(t *testing.T) {
	for i, have := range Roles {
		for j, least := range Roles {
			if have.AtLeast(least) != (i >= j) {
				t.Errorf("%s at least %s = %v", have, least, i < j)
			}
			if got := Least(have, least); got != Roles[min(i, j)] {
				t.Errorf("Least(%s, %s) = %s", have, least, got)
			}
		}
	}
}

func TestUnknownRoleMayDoNothing(t *testing.T) {
	for _, min := range Roles {
		if Role("root").AtLeast(min) || Role("").AtLeast(min) {
			t.Errorf("an unknown role passes for %s", min)
		}
		if min.AtLeast("root") {
			t.Errorf("%s passes for a role that does not exist", min)
		}
	}
}
