import NestModel
import NestTestSupport
import Testing

@Suite struct DigestTests {
    private func rows(_ random: inout SeededRandom) -> [(hash: UInt64, id: ObjectID)] {
        (0..<random.below(30)).map { _ in
            (ResultsDigest.sectionHash(.integer(Int64(random.below(3)))), random.objectID())
        }
    }

    private func digest(_ rows: [(hash: UInt64, id: ObjectID)]) -> ResultsDigest {
        var digest = ResultsDigest.empty
        for row in rows { digest.append(sectionHash: row.hash, object: row.id) }
        return digest
    }

    /// The digests of two parts of a list combine to the digest of all rows appended one by one.
    @Test func combiningPartsEqualsAppendingRows() {
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let rows = self.rows(&random)
            let cut = random.below(rows.count + 1)
            let whole = self.digest(rows)
            let parts = self.digest(Array(rows[..<cut])).combined(with: self.digest(Array(rows[cut...])))
            let singles = rows.reduce(ResultsDigest.empty) {
                $0.combined(with: ResultsDigest(sectionHash: $1.hash, object: $1.id))
            }
            if parts != whole || singles != whole { Issue.record("seed \(seed)") }
        }
    }

    @Test func combiningIsAssociativeAndTheEmptyDigestIsNeutral() {
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let a = self.digest(self.rows(&random))
            let b = self.digest(self.rows(&random))
            let c = self.digest(self.rows(&random))
            let isAssociative = a.combined(with: b).combined(with: c) == a.combined(with: b.combined(with: c))
            let isNeutral = ResultsDigest.empty.combined(with: a) == a && a.combined(with: .empty) == a
            if !isAssociative || !isNeutral { Issue.record("seed \(seed)") }
        }
    }

    /// Exchanging two rows, omitting a row or moving it to another section changes the digest.
    @Test func theDigestDependsOnOrderMembershipAndSections() {
        for seed in 0..<2_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let ids = Set((0..<2 + random.below(20)).map { _ in random.objectID() }).sorted()
            guard ids.count >= 2 else { continue }
            let rows = ids.map { (hash: ResultsDigest.sectionHash(.string("")), id: $0) }
            let whole = self.digest(rows)
            var swapped = rows
            swapped.swapAt(random.below(rows.count - 1), rows.count - 1)
            var shorter = rows
            shorter.remove(at: random.below(rows.count))
            var elsewhere = rows
            elsewhere[random.below(rows.count)].hash = ResultsDigest.sectionHash(.string("A"))
            for other in [swapped, shorter, elsewhere] where self.digest(other).value == whole.value {
                Issue.record("seed \(seed)")
            }
        }
    }

    @Test func valuesStayBelowTheModulus() {
        for seed in 0..<20_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let row = ResultsDigest.rowHash(sectionHash: random.next(), object: random.objectID())
            let digest = self.digest(self.rows(&random))
            if row == 0 || row >= ResultsDigest.modulus || digest.value >= ResultsDigest.modulus {
                Issue.record("seed \(seed)")
            }
        }
    }

    @Test func theTextHasSixteenDigits() {
        #expect(ResultsDigest.empty.description == "0000000000000000")
        #expect(ResultsDigest.text(0xab) == "00000000000000ab")
        #expect(ResultsDigest.text(.max) == "ffffffffffffffff")
    }
}
