package brief

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestANewResultStandsOnTopOfTheOnesNobodyHasSeen(t *testing.T) {
	open := Brief{Title: "Cold store at 11.2 degrees", Summary: "The door is open.", Artifacts: []Artifact{{ID: "1"}}}
	d := Stack(Draft{Title: "One new mail", Summary: "It can wait.", Artifacts: []Artifact{{ID: "2"}}}, open)
	if want := "It can wait.\n\n---\n\n**Cold store at 11.2 degrees**\n\nThe door is open."; d.Summary != want || d.Title != "One new mail" || len(d.Artifacts) != 2 {
		t.Errorf("%+v", d)
	}
}

func TestAStackIsBoundedAndLosesTheOldestFirst(t *testing.T) {
	card := Brief{Title: "Run 0", Summary: strings.Repeat("x", 900)}
	for i := 1; i <= 100; i++ {
		d := Stack(Draft{Title: fmt.Sprintf("Run %d", i), Summary: strings.Repeat("x", 900)}, card)
		card = Brief{Title: d.Title, Summary: d.Summary, Artifacts: d.Artifacts}
		if n := utf8.RuneCountInString(card.Summary); n > maxStack+100 {
			t.Fatalf("after %d results the card has %d characters", i, n)
		}
	}
	if !strings.Contains(card.Summary, "**Run 99**") || strings.Contains(card.Summary, "**Run 50**") {
		t.Errorf("the card keeps:\n%s", card.Summary)
	}
}
