package brief

import (
	"strings"
	"unicode/utf8"
)

// maxStack is how many characters of results a card keeps: what a person still
// scrolls through in the morning. The handoffs of the runs hold all of it.
const maxStack = 12_000

// Stack puts a new result on top of what its open card says already: a finding of
// the night is not lost because the run after it found less. The oldest part gives
// way first.
func Stack(d Draft, open Brief) Draft {
	below := "\n\n---\n\n**" + open.Title + "**\n\n" + open.Summary
	if room := maxStack - utf8.RuneCountInString(d.Summary); utf8.RuneCountInString(below) > room {
		r := []rune(below)
		below = strings.TrimRight(string(r[:max(room, 0)]), " \n")
		if i := strings.LastIndex(below, "\n\n---"); i > 0 {
			below = below[:i] // whole results only
		}
		if below != "" {
			below += "\n\n---\n\nEarlier results stand in the runs of the task."
		}
	}
	d.Summary += below
	for _, a := range open.Artifacts {
		if len(d.Artifacts) < 20 {
			d.Artifacts = append(d.Artifacts, a)
		}
	}
	return d
}
