import DequeModule
import NIOConcurrencyHelpers
import NestModel

/// The change sets that the connection has received for one subscriber. The queue reports the consumed bytes, so that
/// the connection can stop reading when too many bytes wait.
final class ChangesQueue: Sendable {
    private struct Contents {
        var events: Deque<(event: ChangesEvent, byteCount: Int)> = []
        var position: ResumePoint?
        var takenBytes = 0
        var end: NestError?
        var waiter: CheckedContinuation<Void, Never>?
    }

    private enum Step {
        case event(ChangesEvent, takenBytes: Int)
        case end(NestError)
    }

    private static let reportBytes = 256 << 10

    private let contents = NIOLockedValueBox(Contents())
    private let onTaken: @Sendable (Int) -> Void

    init(onTaken: @escaping @Sendable (Int) -> Void) {
        self.onTaken = onTaken
    }

    var position: ResumePoint? { self.contents.withLockedValue { $0.position } }

    /// Appends an event. Returns the number of bytes by which the queue has grown.
    func append(_ event: ChangesEvent, byteCount: Int) -> Int {
        self.contents.withLockedValue { contents in
            guard contents.end == nil else { return 0 }
            Self.merge(event, byteCount, into: &contents.events)
            Self.wake(&contents)
            return byteCount
        }
    }

    /// Merges events that count no bytes, so that a connection that is lost and restored repeatedly cannot fill a queue
    /// that no task reads.
    private static func merge(
        _ event: ChangesEvent,
        _ byteCount: Int,
        into events: inout Deque<(event: ChangesEvent, byteCount: Int)>
    ) {
        switch (events.last?.event, event) {
        case (.progress?, .progress), (.disconnected?, .disconnected):
            events[events.count - 1] = (event, byteCount)
        case (.resumed?, .disconnected):
            // Disconnected, resumed and disconnected again before the subscriber looked: it was disconnected all the
            // time.
            if events.count >= 2, case .disconnected = events[events.count - 2].event { events.removeLast(2) }
            events.append((event, byteCount))
        default:
            events.append((event, byteCount))
        }
    }

    /// Ends the queue with an error, after the waiting events.
    func finish(_ error: NestError) {
        self.contents.withLockedValue { contents in
            guard contents.end == nil else { return }
            contents.end = error
            Self.wake(&contents)
        }
    }

    /// Removes the waiting events. Returns their bytes, and the consumed bytes that were not reported yet.
    func drain() -> Int {
        self.contents.withLockedValue { contents in
            defer {
                contents.events = []
                contents.takenBytes = 0
            }
            return contents.events.reduce(contents.takenBytes) { $0 + $1.byteCount }
        }
    }

    private static func wake(_ contents: inout Contents) {
        contents.waiter?.resume()
        contents.waiter = nil
    }

    func next() async throws -> ChangesEvent {
        while true {
            try Task.checkCancellation()
            switch self.take() {
            case .event(let event, let takenBytes)?:
                if takenBytes > 0 { self.onTaken(takenBytes) }
                return event
            case .end(let error)?: throw error
            case nil: await self.wait()
            }
        }
    }

    private func take() -> Step? {
        self.contents.withLockedValue { contents in
            guard let (event, byteCount) = contents.events.popFirst() else { return contents.end.map { .end($0) } }
            switch event {
            case .following(let point): contents.position = point
            case .changes(let part): if !part.hasMore { contents.position?.revision = part.revision }
            case .progress(let revision): contents.position?.revision = revision
            case .disconnected, .resumed: break
            }
            contents.takenBytes += byteCount
            guard contents.events.isEmpty || contents.takenBytes >= Self.reportBytes else {
                return .event(event, takenBytes: 0)
            }
            defer { contents.takenBytes = 0 }
            return .event(event, takenBytes: contents.takenBytes)
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.contents.withLockedValue { contents in
                    if contents.events.isEmpty, contents.end == nil, !Task.isCancelled {
                        precondition(contents.waiter == nil, "changes are iterated by one task")
                        contents.waiter = continuation
                    } else {
                        continuation.resume()
                    }
                }
            }
        } onCancel: {
            self.contents.withLockedValue { Self.wake(&$0) }
        }
    }
}
