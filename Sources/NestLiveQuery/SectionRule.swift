import NestModel
import NestOrder

/// What a tree node stores about the sections of its rows.
struct SectionSummary: Equatable {
    var count: Int
    var first: SortKey
    var last: SortKey

    /// Joins the summaries of two neighbours; a section may continue from one to the other.
    static func joined(_ a: SectionSummary?, _ b: SectionSummary?) -> SectionSummary? {
        guard let a, let b else { return a ?? b }
        return SectionSummary(count: a.count + b.count - (a.last == b.first ? 1 : 0), first: a.first, last: b.last)
    }
}

/// How the rows of a tree are sectioned, and the sections' part of the digest. A class, because every step through the
/// tree passes it on. Keeping digests is a third of the cost of a change.
final class SectionRule: Sendable {
    let sectioning: Sectioning?
    /// Whether the tree keeps digests; otherwise they are all empty.
    let hasDigests: Bool
    /// The hash of the only section.
    private let hash = ResultsDigest.sectionHash(LiveResult.wholeSection)

    init(_ sectioning: Sectioning?, hasDigests: Bool) {
        precondition(hasDigests || sectioning == nil, "sections come with digests")
        self.sectioning = sectioning
        self.hasDigests = hasDigests
    }

    func digest(of keys: KeyList, _ range: Range<Int>) -> ResultsDigest {
        var digest = ResultsDigest.empty
        var hash = self.hash
        var last: SortKey?
        for index in range {
            if let sectioning {
                let start = sectioning.start(of: keys[index].sort)
                if start != last { hash = ResultsDigest.sectionHash(sectioning.name(of: start)) }
                last = start
            }
            digest.append(sectionHash: hash, object: keys.id(at: index))
        }
        return digest
    }

    func summary(of keys: KeyList) -> (ResultsDigest, SectionSummary?) {
        var digest = ResultsDigest.empty
        guard self.hasDigests else { return (digest, nil) }
        guard let sectioning else {
            for index in 0..<keys.count { digest.append(sectionHash: self.hash, object: keys.id(at: index)) }
            return (digest, nil)
        }
        var summary: SectionSummary?
        var hash = self.hash
        for index in 0..<keys.count {
            let start = sectioning.start(of: keys[index].sort)
            if summary?.last != start {
                hash = ResultsDigest.sectionHash(sectioning.name(of: start))
                summary = SectionSummary(count: (summary?.count ?? 0) + 1, first: summary?.first ?? start, last: start)
            }
            digest.append(sectionHash: hash, object: keys.id(at: index))
        }
        return (digest, summary)
    }
}
