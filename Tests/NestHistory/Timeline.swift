import NestModel

/// What was committed in one piece of a run, revision by revision, as the audit has it.
struct Timeline {
    struct Entry: Hashable {
        var name: String
        var kind: HistoryEntry.Kind
        var session: UInt64
        /// What an undo or redo took back.
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
    /// The first is of the revision after `base`.
    private(set) var entries: [Entry] = []
    /// The revisions that each transaction's name has; those of undo and redo, which have the names of what they take back,
    /// are not among them.
    private(set) var revisions: [String: [Revision]] = [:]
    /// That are taken back by a later one.
    private(set) var reverted: Set<Revision> = []

    /// Joins the parts of change sets. Revisions that are missing or twice end it.
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
