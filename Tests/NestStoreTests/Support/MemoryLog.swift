import NestModel
import NestStore
import Synchronization

/// A log in memory that keeps the rules of a real one, and loses those answers and requests that a test names.
final class MemoryLog: SharedLog {
    enum Fault {
        /// The record is in the log, and no answer comes.
        case lostAnswer
        /// The record does not arrive, and no answer comes.
        case lostRequest
        /// Another writer's record takes the place first.
        case overtaken(LogEntry)
        case refused(NestError)
    }

    private struct State {
        var entries: [LogEntry]
        var faults: [Fault] = []
        var onAppend: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>

    /// `first`: the record of position 0.
    init(_ first: LogEntry) {
        self.state = Mutex(State(entries: [first]))
    }

    /// What happens to the next records.
    func inject(_ faults: Fault...) { self.state.withLock { $0.faults += faults } }

    /// Called on each append, before anything happens.
    func onAppend(_ body: (@Sendable () -> Void)?) { self.state.withLock { $0.onAppend = body } }

    var head: LogPosition { self.state.withLock { $0.entries[$0.entries.count - 1].position } }

    func entries(after position: Int64) -> [LogEntry] {
        self.state.withLock { Array($0.entries[Int(position + 1)...]) }
    }

    func append(_ record: LogRecord, chain: Chain, after: LogPosition) -> AppendOutcome {
        self.state.withLock { $0.onAppend }?()
        return self.state.withLock { state in
            let fault = state.faults.isEmpty ? nil : state.faults.removeFirst()
            switch fault {
            case .lostRequest: return .unknown
            case .refused(let error): return .refused(error)
            case .overtaken(let entry): state.entries.append(entry)
            case .lostAnswer, nil: break
            }
            let position = Int(after.position) + 1
            guard after.position < state.entries.count, state.entries[Int(after.position)].position == after else {
                return .behind
            }
            let outcome: AppendOutcome
            if position < state.entries.count {
                outcome = state.entries[position].position.chain == chain ? .appended : .taken
            } else {
                let entry = LogEntry(
                    position: LogPosition(position: Int64(position), chain: chain),
                    bytes: record.bytes
                )
                state.entries.append(entry)
                outcome = .appended
            }
            if case .lostAnswer = fault { return .unknown }
            return outcome
        }
    }
}
