import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import Synchronization

/// Holds the output of a batch until the batch is durable. Then the thread that opens the gate sends it.
///
/// While the disk syncs the log, event loops make the frames of a small batch. When the sync has ended, no other thread
/// has to wake before the clients get them.
///
/// A gate sends to a `dup` of a connection's descriptor, because the connection may close at any time. Other output of
/// the connection does not wait: the connection sets the bytes in the gate aside, and writes them itself when the gate
/// is open.
package final class OutputGate: Sendable {
    /// The most bytes of the frames of one delivery, each frame counted once.
    package static let bytesMax = 64 << 10

    package enum Phase: Sendable { case closed, open, dropped }

    /// What a connection must write, now that the gate is open.
    package enum Rest: Equatable, Sendable {
        /// The socket has not accepted these bytes. They may be the end of a frame: nothing may come before them.
        case unsent(ByteBuffer)
        /// Whole frames that were set aside.
        case aside(ByteBuffer)
    }

    private struct Held {
        let connection: ConnectionID
        /// Negative if there is none to send to.
        var descriptor: CInt
        var bytes: ByteBuffer
        var isAside = false
        let opened: @Sendable () -> Void

        /// Returns whether the socket has accepted everything.
        mutating func send() -> Bool {
            guard !self.isAside, self.descriptor >= 0 else { return false }
            DirectOutput.send(&self.bytes, to: self.descriptor)
            return self.bytes.readableBytes == 0
        }

        mutating func closeDescriptor() {
            if self.descriptor >= 0 { close(self.descriptor) }
            self.descriptor = -1
        }
    }

    private struct State {
        var phase = Phase.closed
        /// Few: see `SendingAhead`.
        var held: [Held] = []
        var waiters: [@Sendable () -> Void] = []
        var hadWaiters = false

        func index(of connection: ConnectionID) -> Int? { self.held.firstIndex { $0.connection == connection } }
    }

    private let state = NIOLockedValueBox(State())
    private let done = Atomic(false)

    package init() {}

    deinit {
        self.state.withLockedValue { state in
            for index in state.held.indices { state.held[index].closeDescriptor() }
        }
    }

    package var phase: Phase { self.state.withLockedValue { $0.phase } }

    /// Whether the gate is open and the sockets have accepted everything.
    package var isDone: Bool { self.done.load(ordering: .acquiring) }

    /// Whether an event loop has waited, because it could not use the gate.
    package var hadWaiters: Bool { self.state.withLockedValue { $0.hadWaiters } }

    // MARK: Called on event loops

    /// Holds bytes of a connection: whole frames. Returns false if the gate is open: the caller writes them. `opened`:
    /// called by the thread that opens the gate if the connection must then call `take`.
    package func hold(
        _ bytes: ByteBuffer,
        of connection: ConnectionID,
        _ descriptor: CInt,
        opened: @escaping @Sendable () -> Void
    ) -> Bool {
        self.state.withLockedValue { state in
            if let index = state.index(of: connection) {
                state.held[index].bytes.writeImmutableBuffer(bytes)
            } else if state.phase == .closed {
                let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
                state.held.append(Held(connection: connection, descriptor: copy, bytes: bytes, opened: opened))
            } else {
                return state.phase == .dropped
            }
            return true
        }
    }

    /// Sets a connection's bytes aside, so that it can write others before them. Returns false if the gate is open: the
    /// connection must first call `take`.
    package func setAside(_ connection: ConnectionID) -> Bool {
        self.state.withLockedValue { state in
            guard state.phase != .open else { return false }
            if let index = state.index(of: connection) {
                state.held[index].isAside = true
                state.held[index].closeDescriptor()
            }
            return true
        }
    }

    /// Forgets a connection. Returns what it must write; nothing if the gate is not open.
    package func take(_ connection: ConnectionID) -> Rest? {
        self.state.withLockedValue { state in
            guard let index = state.index(of: connection) else { return nil }
            var held = state.held.remove(at: index)
            held.closeDescriptor()
            guard state.phase == .open, held.bytes.readableBytes > 0 else { return nil }
            return held.isAside ? .aside(held.bytes) : .unsent(held.bytes)
        }
    }

    /// Calls `deliver` on the thread that opens the gate, because the event loop cannot give it all bytes of the batch.
    /// Returns false if the gate is open already.
    package func whenOpen(_ deliver: @escaping @Sendable () -> Void) -> Bool {
        self.state.withLockedValue { state in
            if state.phase == .closed {
                state.hadWaiters = true
                state.waiters.append(deliver)
            }
            return state.phase != .open
        }
    }

    // MARK: Called on the thread that has synced the log

    /// Sends everything.
    package func open() {
        let calls = self.state.withLockedValue { state in
            state.phase = .open
            let isSent = state.held.indices.map { state.held[$0].send() }
            for index in state.held.indices { state.held[index].closeDescriptor() }
            defer { state.waiters = [] }
            guard isSent.contains(false) else {
                state.held = []
                self.done.store(true, ordering: .releasing)
                return state.waiters
            }
            return state.held.map(\.opened) + state.waiters
        }
        for call in calls { call() }
    }

    /// The batch will never be durable: nothing of it is sent.
    package func drop() {
        self.state.withLockedValue { state in
            state.phase = .dropped
            state.waiters = []
        }
    }
}
