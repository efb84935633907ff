/// The stages of a write that is alone in the server, in their order. Each begins where the one before it ends.
package enum CommitStage: Int, CaseIterable, CustomStringConvertible {
    case request, arrival, mailbox, execution, disk, outbox, output, answer

    package var description: String {
        switch self {
        case .request: "client writes"
        case .arrival: "loop wakes, reads"
        case .mailbox: "loop decodes, engine wakes"
        case .execution: "engine executes, logs, makes diffs"
        case .disk: "fdatasync"
        case .outbox: "frames, if not made yet"
        case .output: "writes to sockets"
        case .answer: "client wakes, reads"
        }
    }
}

/// When the stages of one write ended.
package struct CommitTimeline: Equatable {
    /// Nanoseconds for each stage.
    package let durations: [UInt64]

    package var total: UInt64 { self.durations.reduce(0, +) }

    package subscript(_ stage: CommitStage) -> UInt64 { self.durations[stage.rawValue] }

    /// Splits a trace with one write in flight at the client's writes: `client` is the thread on which it writes and
    /// reads. Leaves out what has no complete write.
    package static func all(in events: [TraceEvent], client: UInt32) -> [CommitTimeline] {
        let starts = events.indices.filter { events[$0].kind == .write && events[$0].thread == client }
        return zip(starts, starts.dropFirst() + [events.endIndex]).compactMap { start, end in
            CommitTimeline(events[start..<end], client: client)
        }
    }

    /// `events`: from the client's write until the next one, in the order of their begin.
    init?(_ events: ArraySlice<TraceEvent>, client: UInt32) {
        guard let request = events.first, let commit = Self.commit(in: events) else { return nil }
        func isOfLoop(_ event: TraceEvent) -> Bool { event.thread != client && event.thread != commit.begun.thread }
        // After the disk the engine's thread may write as well.
        func isOutput(_ event: TraceEvent) -> Bool { event.kind == .write && event.thread != client }
        guard let read = events.first(where: { $0.kind == .read && isOfLoop($0) }),
            let firstOutput = events.first(where: { isOutput($0) && $0.begin >= commit.synced.end }),
            let lastOutput = events.last(where: { isOutput($0) }),
            let answer = events.last(where: { $0.kind == .read && $0.thread == client })
        else { return nil }
        var moment = request.begin
        // A server that has read the request does not wait for the client's call, which may return long after.
        // What still overlaps counts for the earlier stage.
        self.durations = [
            min(request.end, read.end), read.end, commit.begun.begin, commit.performed.begin, commit.synced.end,
            firstOutput.begin, lastOutput.end, answer.end,
        ].map { end in
            defer { moment = max(moment, end) }
            return end > moment ? end - moment : 0
        }
    }

    private struct Commit {
        let begun, performed, synced: TraceEvent
    }

    /// Returns the first batch of the engine that waits for the disk before it is handed out. The checkpoint after a
    /// batch waits for it too, and may still do so when the next write arrives. The client may write that before the
    /// engine has noted that it has handed out.
    private static func commit(in events: ArraySlice<TraceEvent>) -> Commit? {
        for start in events.indices where events[start].kind == .begun {
            let batch = events[(start + 1)...].prefix { $0.kind != .handedOut && $0.kind != .begun }
            guard let performed = batch.firstIndex(where: { $0.kind == .performed }),
                let synced = batch[performed...].last(where: { $0.kind == .sync })
            else { continue }
            return Commit(begun: events[start], performed: batch[performed], synced: synced)
        }
        return nil
    }
}
