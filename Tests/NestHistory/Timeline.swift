import NestModel

/// The committed transactions of one piece of a run by revision, from the audit.
struct Timeline {
    struct Entry: Hashable {
        var name: String
        var kind: HistoryEntry.Kind
        var session: UInt64
        /// The revision that an undo or redo reverted.
        var reverted: Revision?
        var objects: [ChangedObject]

        init(_ part: ChangeSetPart) {
            self.name = part.name
            self.kind = part.kind
            self.session = part.sessionNumber
            self.reverted = part.reverted
            self.objects = []
        }
    }

    /// The last revision before the piece.
    let base: Revision
    /// The entries. The first has the revision after `base`.
    private(set) var entries: [Entry] = []
    /// The revisions of each transaction by name, without undos and redos, which have the names of the entries that
    /// they revert.
    private(set) var revisions: [String: [Revision]] = [:]
    /// The revisions that later ones revert.
    private(set) var reverted: Set<Revision> = []

    /// Joins the parts of change sets. Stops at a missing or repeated revision.
    init(_ parts: [ChangeSetPart], after base: Revision, _ violations: inout [Violation]) {
        self.base = base
        var open: Entry?
        for part in parts {
            guard part.revision == self.last.next else {
                violations.append(Violation(.reliable, "the audit goes from \(self.last) to \(part.revision)"))
                return
            }
            var entry = open ?? Entry(part)
            entry.objects += part.objects
            open = part.hasMore ? entry : nil
            guard !part.hasMore else { continue }
            self.entries.append(entry)
            if let reverted = entry.reverted {
                self.reverted.insert(reverted)
            } else {
                self.revisions[entry.name, default: []].append(part.revision)
            }
        }
    }

    var last: Revision { Revision(self.base.rawValue + UInt64(self.entries.count)) }

    subscript(revision: Revision) -> Entry? {
        guard revision > self.base, revision <= self.last else { return nil }
        return self.entries[Int(revision.rawValue - self.base.rawValue) - 1]
    }
}
