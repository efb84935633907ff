import CTrace
import NestServer

/// A system call or a mark, with the times of the monotonic clock in nanoseconds.
package struct TraceEvent: Equatable {
    package enum Kind: Equatable {
        case read, write, sync
        case begun, performed, handedOut
    }

    package var kind: Kind
    package var begin: UInt64
    package var end: UInt64
    package var thread: UInt32

    package init(_ kind: Kind, _ begin: UInt64, _ end: UInt64, thread: UInt32) {
        (self.kind, self.begin, self.end, self.thread) = (kind, begin, end, thread)
    }

    static func mark(_ stage: EngineStage) {
        switch stage {
        case .begun: nest_trace_mark(0)
        case .performed: nest_trace_mark(1)
        case .ahead: break
        case .handedOut: nest_trace_mark(2)
        }
    }

    /// `nil`: a call that moved no frame. A wake-up is a write, and a read, of 8 bytes; a frame has more.
    fileprivate init?(_ event: nest_trace_event) {
        let kind: Kind
        switch nest_trace_kind(event.kind) {
        case NEST_TRACE_SYNC: kind = .sync
        case NEST_TRACE_READ where event.result > 8: kind = .read
        case NEST_TRACE_WRITE where event.result > 8: kind = .write
        case NEST_TRACE_MARK: kind = [.begun, .performed, .handedOut][Int(event.result)]
        default: return nil
        }
        self.init(kind, event.begin, event.end, thread: event.thread)
    }
}

/// Records the calls of all threads of this process.
package enum Trace {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The most calls that a trace keeps: 160 MB of memory, which is used as it fills.
    private static let eventsMax = 4_000_000

    package static var thread: UInt32 { nest_trace_thread() }

    /// Returns the calls during `body`, in the order of their begin.
    package static func record(_ body: () async throws -> Void) async throws -> [TraceEvent] {
        guard nest_trace_start(Self.eventsMax) == 0 else { throw Failure(description: "no memory for a trace") }
        do {
            try await body()
        } catch {
            _ = try Self.stop()
            throw error
        }
        return try Self.stop()
    }

    private static func stop() throws -> [TraceEvent] {
        var count = 0
        var missed = 0
        let events = nest_trace_stop(&count, &missed)
        defer { nest_trace_free(events) }
        guard missed == 0 else { throw Failure(description: "a trace has \(missed) calls too many: send fewer writes") }
        return UnsafeBufferPointer(start: events, count: count).compactMap { TraceEvent($0) }.sorted {
            $0.begin < $1.begin
        }
    }
}
