package schedule

import (
	"archive/zip"
	_ "embed"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/dogwatch/dogwatch/internal/base/errs"
)

// The zone database is part of the binary, and this copy is the only one that is
// read. time.LoadLocation would prefer ZONEINFO and the host's files, so that two
// replicas could disagree about a fire; it also accepts right/ and posix/ names,
// and can neither list names nor fold their case.
//
//go:generate sh -c "cp \"$(go env GOROOT)/lib/time/zoneinfo.zip\" zonedata/zoneinfo.zip"
//go:embed zonedata/zoneinfo.zip
var zoneArchive string

//go:embed zonedata/abbreviations.txt
var abbreviationList string

// zoneEntry is where one zone's data lies in the archive, whose files are stored
// without compression.
type zoneEntry struct {
	name string
	data string
}

var (
	zoneIndex     = readZoneIndex()     // by lower-case name
	abbreviations = readAbbreviations() // lower case, to the places that may be meant
)

func readZoneIndex() map[string]zoneEntry {
	index := map[string]zoneEntry{}
	archive, err := zip.NewReader(strings.NewReader(zoneArchive), int64(len(zoneArchive)))
	if err != nil {
		panic("the embedded zone database is damaged: " + err.Error())
	}
	for _, f := range archive.File {
		from, err := f.DataOffset()
		if err != nil || f.Method != zip.Store {
			panic("the embedded zone database has an unexpected form at " + f.Name)
		}
		index[strings.ToLower(f.Name)] = zoneEntry{f.Name, zoneArchive[from : from+int64(f.UncompressedSize64)]}
	}
	delete(index, "factory") // the database's own placeholder for "not set yet"
	return index
}

func readAbbreviations() map[string][]string {
	places := map[string][]string{}
	for line := range strings.Lines(abbreviationList) {
		if words := strings.Fields(line); len(words) > 1 && words[0] != "#" {
			places[words[0]] = words[1:]
		}
	}
	return places
}

// Zone finds the zone of an IANA name, written in any case, and returns it with
// the name as the database spells it. Every call reads the data anew: keep the
// result. The error is errs.Invalid with code invalid_timezone, and suggests what
// to write instead.
func Zone(name string) (*time.Location, string, error) {
	key := strings.ToLower(name)
	entry, known := zoneIndex[key]
	var why string
	switch places := abbreviations[key]; {
	case key == "" || key == "local" || key == "localtime":
		why = "A time zone must be named, the zone of the machine is never used. Write one like Europe/Berlin."
	case places != nil:
		why = name + " is an abbreviation that does not say whose clock changes apply. Write " + orList(places) + "."
	case known:
		loc, err := time.LoadLocationFromTZData(entry.name, []byte(entry.data))
		if err != nil {
			return nil, "", errs.New(errs.Internal, "", "The embedded data of the zone %s cannot be read.", entry.name)
		}
		return loc, entry.name, nil
	case looksLikeOffset(key):
		why = name + " is an offset, which knows no clock changes. Name a place like Europe/Berlin, or UTC."
	default:
		why = name + " is not a zone of the IANA database. " + similarZones(key)
	}
	return nil, "", errs.New(errs.Invalid, CodeTimezone, "%s", why)
}

// ZoneNames lists every name that Zone accepts, in order, for an editor to offer.
func ZoneNames() []string {
	var names []string
	for key, entry := range zoneIndex {
		if abbreviations[key] == nil {
			names = append(names, entry.name)
		}
	}
	slices.Sort(names)
	return names
}

func looksLikeOffset(key string) bool {
	if rest, ok := strings.CutPrefix(key, "utc"); ok {
		key = rest
	} else if rest, ok := strings.CutPrefix(key, "gmt"); ok {
		key = rest
	}
	return key != "" && strings.ContainsRune("+-0123456789", rune(key[0]))
}

// similarZones suggests names that contain the last part of what was written,
// which is where people put the city.
func similarZones(key string) string {
	city := strings.ReplaceAll(strings.TrimSpace(key[strings.LastIndexByte(key, '/')+1:]), " ", "_")
	var found []string
	for _, name := range ZoneNames() {
		if len(city) >= 3 && strings.Contains(strings.ToLower(name), city) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		return "Write area and city, like Europe/Berlin or America/New_York."
	}
	return "Did you mean " + orList(found[:min(3, len(found))]) + "?"
}

func orList(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// A stretch is a time of one offset in a zone: inside it a wall clock shows
// instant + offset, all in seconds since 1970. The end is excluded. Neighbours
// may have the same offset.
type stretch struct{ start, end, offset int64 }

const (
	daySeconds = 24 * 60 * 60
	farPast    = math.MinInt64 / 4
	farFuture  = math.MaxInt64 / 4
)

// stretchAt returns the stretch around an instant. Whoever walks forward goes on
// from the previous end, not from the start of what comes back: Go 1.26 closes the
// last rule of a year after 365 days, so that on 31 December of a leap year the end
// lies before the instant, and the start on the day after is false too. Both have
// the right offset, so the mended end only splits a stretch in two.
func stretchAt(loc *time.Location, at int64) stretch {
	t := time.Unix(at, 0).In(loc)
	_, offset := t.Zone()
	from, to := t.ZoneBounds()
	s := stretch{farPast, farFuture, int64(offset)}
	if !from.IsZero() {
		s.start = from.Unix()
	}
	if !to.IsZero() {
		s.end = to.Unix()
	}
	if s.end <= at {
		s.end = (floorDiv(at, daySeconds) + 1) * daySeconds
	}
	return s
}

// reached returns the latest reading that a clock in the zone has shown up to an
// instant, and the stretch around that. It never falls; it stands still while an hour is repeated and jumps
// where one is left out. No two changes whose repeats reach into each other lie
// more than two days apart.
func reached(loc *time.Location, at int64) (latest int64, here stretch) {
	here = stretchAt(loc, at)
	latest = at + here.offset
	for s := here; s.start > at-2*daySeconds; {
		end := s.start
		s = stretchAt(loc, end-1)
		latest = max(latest, end-1+s.offset)
	}
	return latest, here
}

// firstReach returns the first instant at which a clock in the zone shows the
// reading or a later one. Where the reading exists that is its first occurrence;
// where a gap swallowed it, the end of the gap. The search begins at the stretch s around
// an instant that has not reached the reading.
func firstReach(loc *time.Location, s stretch, reading int64) int64 {
	if reading-daySeconds > s.end { // no offset exceeds 16 hours: nothing earlier reads so late
		s = stretchAt(loc, reading-daySeconds)
	}
	for reading-s.offset >= s.end {
		s = stretchAt(loc, s.end)
	}
	return max(s.start, reading-s.offset)
}

func floorDiv(a, b int64) int64 { // b > 0
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
