import NestModel
import NestTestSupport
import Testing
import NestProtocol

@Suite struct ApplyTests {
    /// Returns the old and the new state of a random transition: small and dense, or long with many edits, with or
    /// without sections.
    private func transition(_ random: inout SeededRandom) -> (old: SectionedSnapshot, new: SectionedSnapshot) {
        let sections = random.oneIn(3) ? 1 : 2 + random.below(4)
        let rows = random.oneIn(10) ? 60 : 1 + random.below(9)
        let old = random.snapshot(rows: rows, sections: sections, revision: Revision(UInt64(random.below(50))))
        if random.oneIn(4) {
            var new = random.snapshot(rows: rows, sections: sections, revision: old.revision)
            new.revision = Revision(old.revision.rawValue + 1)
            return (old, new)
        }
        let edits = 1 + random.below(random.oneIn(8) ? 60 : 5)
        return (old, random.edited(old, edits: edits, rows: rows, sections: sections))
    }

    /// The naive difference of two states, applied to the old one, gives the new one. The naive applier and the digest
    /// agree.
    @Test func diffsAppliedToOldGiveNew() {
        for seed in 0..<30_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let (old, new) = self.transition(&random)
            let diff = NaiveDiff.difference(from: old, to: new)
            var state = old
            do throws(DiffMismatch) {
                try state.apply(diff)
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
            if state != new || NaiveDiff.apply(diff, to: old) != new || state.digest != diff.digest {
                Issue.record("seed \(seed)")
            }
        }
    }

    /// A diff that is encoded and decoded is unchanged.
    @Test func diffsRoundTrip() throws {
        for seed in 0..<5_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let (old, new) = self.transition(&random)
            let diff = NaiveDiff.difference(from: old, to: new)
            var writer = ByteWriter()
            writer.write(diff: diff)
            let read = try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in
                let diff = try reader.diff(valueCount: old.projection.count)
                try reader.finish("diff")
                return diff
            }
            if read != diff { Issue.record("seed \(seed)") }
        }
    }

    /// A corrupted diff is refused and leaves the state unchanged. If it still fits, it gives the naive applier's
    /// state, and the digest detects a wrong structure.
    @Test func corruptedDiffsAreRefusedOrApplied() {
        var refused = 0
        var seenByDigest = 0
        for seed in 0..<30_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let (old, new) = self.transition(&random)
            var diff = NaiveDiff.difference(from: old, to: new)
            for _ in 0...random.below(2) { self.corrupt(&diff, &random) }
            var state = old
            let expected = NaiveDiff.apply(diff, to: old)
            do throws(DiffMismatch) {
                try state.apply(diff)
                if state != expected {
                    Issue.record("seed \(seed): accepted, but the state differs from the naive applier's")
                }
                if self.structure(state) != self.structure(new) {
                    if state.digest == new.digest { Issue.record("seed \(seed): the digest does not detect it") }
                    seenByDigest += 1
                }
            } catch {
                if state != old { Issue.record("seed \(seed): refused, but the state has changed") }
                if expected != nil { Issue.record("seed \(seed): refused by one applier only: \(error)") }
                refused += 1
            }
        }
        // Smaller counts mean that the random corruption has no effect.
        #expect(refused > 10_000)
        #expect(seenByDigest > 900)
    }

    /// A state at revision h accepts a diff if from <= h < to, and is then at `to`.
    @Test func diffsApplyOnlyToRevisionsInTheirRange() throws {
        for held in 0...9 as ClosedRange<UInt64> {
            let old = SectionedSnapshot(revision: Revision(held), projection: [], sections: [])
            let diff = ResultsDiff(from: Revision(3), to: Revision(6), total: 0, digest: 0)
            var state = old
            if (3..<6).contains(held) {
                try state.apply(diff)
                #expect(state.revision == Revision(6))
            } else {
                #expect(throws: DiffMismatch.revision(held: Revision(held), from: Revision(3), to: Revision(6))) {
                    try state.apply(diff)
                }
                #expect(state == old)
            }
        }
    }

    /// Returns the ids of the rows by section, without empty sections: the part of the state that the digest covers.
    private func structure(_ state: SectionedSnapshot) -> [[AttributeValue]] {
        state.sections.filter { !$0.rows.isEmpty }.map { [$0.key] + $0.rows.map { .reference($0.id) } }
    }

    private func corrupt(_ diff: inout ResultsDiff, _ random: inout SeededRandom) {
        func off(_ path: RowPosition, _ random: inout SeededRandom) -> RowPosition {
            let by = random.pick([-1, 1, 1_000, Int.max >> 1, -(1 << 40)])
            return random.oneIn(3)
                ? RowPosition(path.section &+ by, path.row) : RowPosition(path.section, path.row &+ by)
        }
        func edit<Element>(
            _ list: inout [Element],
            _ random: inout SeededRandom,
            _ change: (inout Element, inout SeededRandom) -> Void
        ) {
            guard !list.isEmpty else { return }
            let at = random.below(list.count)
            switch random.below(4) {
            case 0: list.remove(at: at)
            case 1: list.insert(list[at], at: at)
            case 2 where list.count > 1: list.swapAt(at, (at + 1) % list.count)
            default: change(&list[at], &random)
            }
        }
        var copy = diff
        switch random.below(9) {
        case 0, 1:
            edit(&copy.deletedRows, &random) {
                if $1.oneIn(3) { $0.id = ObjectID(999) } else { $0.path = off($0.path, &$1) }
            }
        case 2: edit(&copy.deletedSections, &random) { $0 += $1.pick([-1, 1, 50]) }
        case 3: edit(&copy.insertedSections, &random) { $0.index += $1.pick([-1, 1, 50]) }
        case 4, 5:
            edit(&copy.moves, &random) {
                if $1.oneIn(2) { $0.from = off($0.from, &$1) } else { $0.to = off($0.to, &$1) }
            }
        case 6:
            edit(&copy.insertedRows, &random) {
                if $1.oneIn(4) { $0.row.values.append(.null) } else { $0.path = off($0.path, &$1) }
            }
        case 7:
            edit(&copy.updates, &random) {
                if $1.oneIn(3) { $0.values.append((PropertyNumber(9), .null)) } else { $0.path = off($0.path, &$1) }
            }
        default: copy.total += random.pick([-1, 1])
        }
        diff = copy
    }
}
