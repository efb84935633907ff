import NestModel

/// Checks that a follower gets the changes of the timeline in order, without a gap and without an overlap.
struct FollowerCheck {
    private let name: String
    private var position: ResumePoint?
    /// The received objects of the incomplete change set after the position.
    private var objects: [ChangedObject] = []
    private var isConnected = true
    /// Whether the follower has resumed and received nothing since.
    private var isFresh: Bool
    /// Set after the first violation: later ones would only repeat it.
    private var isOver = false

    init(_ record: FollowerRecord) {
        self.name = record.name
        self.isFresh = record.since != nil
    }

    /// Returns the violations of the record in one piece.
    mutating func violations(_ record: FollowerRecord, _ timeline: Timeline) -> [Violation] {
        for event in record.events where !self.isOver {
            guard let violation = self.take(event, record, timeline) else { continue }
            self.isOver = true
            return [violation]
        }
        guard !self.isOver, record.isComplete, let revision = self.position?.revision, revision < timeline.last else {
            return []
        }
        self.isOver = true
        return [self.violation(.reliable, "ended at \(revision), not at \(timeline.last)")]
    }

    private func violation(_ rule: Rule, _ message: String) -> Violation {
        Violation(rule, "follower \(self.name) \(message)")
    }

    private mutating func take(
        _ event: FollowerRecord.Event,
        _ record: FollowerRecord,
        _ timeline: Timeline
    ) -> Violation? {
        if case .following(let point) = event {
            guard self.position == nil else { return self.violation(.unique, "began twice") }
            self.position = point
            guard record.since == nil || record.since == point else {
                return self.violation(.resumable, "requested \(record.since!) and started at \(point)")
            }
            return nil
        }
        guard let position = self.position?.revision else {
            if case .disconnected = event { return nil }
            return self.violation(.ordered, "received \(event) before the start")
        }
        switch event {
        case .following: return nil
        case .changes(let part): return self.take(part, position, timeline)
        case .progress(let revision):
            guard self.isConnected else { return self.violation(.resumable, "received progress while disconnected") }
            guard revision >= position else {
                return self.violation(.ordered, "was at \(position) and received progress to \(revision)")
            }
            guard revision == position else {
                return self.violation(.bookmarkable, "received progress to \(revision), but nothing after \(position)")
            }
            return nil
        case .disconnected:
            self.isConnected = false
            return nil
        case .resumed(let revision):
            (self.isConnected, self.isFresh) = (true, true)
            guard revision == position else {
                return self.violation(.resumable, "was at \(position) and resumed at \(revision)")
            }
            return nil
        }
    }

    private mutating func take(_ part: ChangeSetPart, _ position: Revision, _ timeline: Timeline) -> Violation? {
        defer { self.isFresh = false }
        guard self.isConnected else {
            return self.violation(.resumable, "received \(part.revision) while disconnected")
        }
        guard part.revision > position else {
            return self.violation(
                part.revision == position ? .unique : .ordered,
                "was at \(position) and received \(part.revision)"
            )
        }
        guard part.revision == position.next else {
            return self.violation(
                self.isFresh ? .resumable : .reliable,
                "was at \(position) and received \(part.revision)"
            )
        }
        guard let entry = timeline[part.revision] else {
            return self.violation(.durable, "received \(part.revision), '\(part.name)', which is lost")
        }
        self.objects += part.objects
        let isSame =
            part.name == entry.name
            && (part.hasMore ? entry.objects.starts(with: self.objects) : entry.objects == self.objects)
        guard isSame else {
            return self.violation(
                part.name == entry.name ? .atomic : .durable,
                "received \(part.revision) as '\(part.name)' \(self.objects); it is '\(entry.name)' \(entry.objects)"
            )
        }
        if !part.hasMore {
            self.position?.revision = part.revision
            self.objects = []
        }
        return nil
    }
}
