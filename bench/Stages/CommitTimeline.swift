/// The stages of a write that is alone in the server, in their order. Each begins where the one before it ends.
package enum CommitStage: Int, CaseIterable, CustomStringConvertible {
    case request, arrival, mailbox, execution, disk, results, outbox, output, answer

    package var description: String {
        switch self {
        case .request: "the client writes to its socket"
        case .arrival: "nestd's event loop wakes and reads"
        case .mailbox: "it decodes the frame; the engine wakes"
        case .execution: "the engine executes, SQLite logs"
        case .disk: "fdatasync"
        case .results: "the engine makes diffs and the receipt"
        case .outbox: "the event loop wakes and makes frames"
        case .output: "it writes to all sockets"
        case .answer: "the client wakes and reads the last"
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
        guard let request = events.first, let engine = events.first(where: { $0.kind == .sync })?.thread else {
            return nil
        }
        func first(_ kind: TraceEvent.Kind, from: UInt64, where isMeant: (TraceEvent) -> Bool = { _ in true })
            -> TraceEvent?
        {
            events.first { $0.kind == kind && $0.begin >= from && isMeant($0) }
        }
        func last(_ kind: TraceEvent.Kind, before: UInt64 = .max, where isMeant: (TraceEvent) -> Bool = { _ in true })
            -> TraceEvent?
        {
            events.last { $0.kind == kind && $0.begin < before && isMeant($0) }
        }
        let isOfLoop = { (event: TraceEvent) in event.thread != client && event.thread != engine }
        guard let sync = first(.sync, from: request.begin),
            let read = first(.read, from: request.begin, where: isOfLoop),
            let begun = last(.begun, before: sync.begin),
            let performed = first(.performed, from: sync.end),
            let synced = last(.sync, before: performed.begin),
            let firstOutput = first(.write, from: performed.end, where: isOfLoop),
            let lastOutput = last(.write, where: isOfLoop),
            let answer = last(.read, where: { $0.thread == client })
        else { return nil }
        var moment = request.begin
        // What overlaps counts for the earlier stage: a server may read before the client's call has returned.
        self.durations = [
            request.end, read.end, begun.begin, sync.begin, synced.end, performed.begin, firstOutput.begin,
            lastOutput.end, answer.end,
        ].map { end in
            defer { moment = max(moment, end) }
            return end > moment ? end - moment : 0
        }
    }
}
