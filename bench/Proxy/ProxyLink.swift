import NIOCore
import NIOPosix

#if canImport(Glibc)
import Glibc
#endif

/// One connection through the proxy: two channels, and a pipe for each direction. It performs what the pipes decide.
///
/// The channels do not read automatically. The link reads a channel when its pipe wants more bytes, and writes a pipe's
/// next piece when the socket has accepted the last one. So a slow receiver slows the sender down.
actor ProxyLink {
    private struct Lane {
        var pipe: ProxyPipe
        var isReading = false
        var isWriting = false
        /// Whether the end was sent to the receiver.
        var isFinished = false
        var timer: Scheduled<Void>?
    }

    /// Time for a last piece to arrive before both sockets are closed.
    private static let linger = TimeAmount.seconds(1)

    nonisolated let number: Int
    nonisolated let eventLoop: any EventLoop
    nonisolated let unownedExecutor: UnownedSerialExecutor
    private let proxy: ChaosProxy
    private let client: any Channel
    private var server: (any Channel)?
    private var toServer: Lane
    private var toClient: Lane
    /// Whether forwarding has stopped.
    private var isEnding = false
    private var isClosed = false

    init(_ number: Int, client: any Channel, proxy: ChaosProxy, _ faults: Faults, seed: UInt64) {
        self.number = number
        self.eventLoop = client.eventLoop
        self.unownedExecutor = client.eventLoop.executor.asUnownedSerialExecutor()
        self.client = client
        self.proxy = proxy
        self.toServer = Lane(pipe: ProxyPipe(.toServer, faults, seed: seed))
        self.toClient = Lane(pipe: ProxyPipe(.toClient, faults, seed: ~seed))
    }

    private subscript(direction: ProxyDirection) -> Lane {
        get { direction == .toServer ? self.toServer : self.toClient }
        set {
            if direction == .toServer { self.toServer = newValue } else { self.toClient = newValue }
        }
    }

    private func target(_ direction: ProxyDirection) -> (any Channel)? {
        direction == .toServer ? self.server : self.client
    }

    private func source(_ direction: ProxyDirection) -> (any Channel)? {
        direction == .toServer ? self.client : self.server
    }

    // MARK: The proxy

    /// Starts to forward. `server`: the connection to the server; `nil` if the server cannot be reached.
    func connected(_ server: (any Channel)?) {
        guard let server, !self.isClosed else {
            server?.close(promise: nil)
            return self.reset()
        }
        self.server = server
        for direction in ProxyDirection.allCases { self.advance(direction) }
    }

    func begin(_ faults: Faults) {
        // A connection that has lost bytes must not continue.
        if self.toServer.pipe.hasLost || self.toClient.pipe.hasLost { return self.reset() }
        for direction in ProxyDirection.allCases {
            self[direction].pipe.begin(faults)
            self.advance(direction)
        }
    }

    /// Resets the connection to both sides (RST).
    func reset() {
        self.isOver()
        for channel in [self.client, self.server] {
            guard let channel = channel as? any Channel & SocketOptionProvider else { continue }
            channel.setSoLinger(Glibc.linger(l_onoff: 1, l_linger: 0)).whenComplete { _ in channel.close(promise: nil) }
        }
    }

    // MARK: The channels

    func received(_ bytes: ByteBuffer, _ direction: ProxyDirection) {
        if !self.isEnding { self[direction].pipe.received(bytes, now: .now()) }
    }

    func readCompleted(_ direction: ProxyDirection) {
        self[direction].isReading = false
        self.advance(direction)
    }

    /// The sender has finished or disconnected.
    func ended(_ direction: ProxyDirection) {
        self[direction].pipe.ended()
        self.advance(direction)
        self.closeIfOver()
    }

    // MARK: Forwarding

    private func advance(_ direction: ProxyDirection) {
        guard !self.isClosed, let target = self.target(direction), let source = self.source(direction) else { return }
        if !self.isEnding, !self[direction].isWriting { self.forward(direction, to: target) }
        guard !self.isClosed, !self[direction].isReading else { return }
        if self.isEnding || self[direction].pipe.wantsToRead {
            self[direction].isReading = true
            source.read()
        }
    }

    private func forward(_ direction: ProxyDirection, to target: any Channel) {
        switch self[direction].pipe.next(now: .now()) {
        case .idle: break
        case .write(let bytes):
            self[direction].isWriting = true
            target.writeAndFlush(bytes).whenComplete { _ in
                // In a separate turn, so that pieces are not joined. After a failed write the channel closes.
                self.enqueue { link in
                    link[direction].isWriting = false
                    link.advance(direction)
                }
            }
        case .wait(let deadline):
            self[direction].timer?.cancel()
            self[direction].timer = self.eventLoop.scheduleTask(deadline: deadline) {
                self.assumeIsolated { $0.advance(direction) }
            }
        case .finish:
            guard !self[direction].isFinished else { return }
            self[direction].isFinished = true
            target.close(mode: .output, promise: nil)
            self.closeIfOver()
        case .cut:
            self.log(.cut, direction)
            self.cut()
        case .reset:
            self.log(.reset, direction)
            self.reset()
        }
    }

    private func log(_ kind: Faults.Break, _ direction: ProxyDirection) {
        let bytes = self[direction].pipe.forwardedBytes
        self.proxy.assumeIsolated { $0.log(.broken(link: self.number, kind, direction, bytes: bytes)) }
    }

    /// Closes the connection to both sides after the last forwarded byte. It then reads and discards further bytes,
    /// because closing a socket with unread bytes sends a RST.
    private func cut() {
        guard !self.isEnding else { return }
        self.isEnding = true
        for channel in [self.client, self.server] { channel?.close(mode: .output, promise: nil) }
        for direction in ProxyDirection.allCases { self.advance(direction) }
        _ = self.eventLoop.scheduleTask(in: Self.linger) { self.assumeIsolated { $0.close() } }
    }

    private func closeIfOver() {
        let lanes = [self.toServer, self.toClient]
        guard lanes.allSatisfy({ self.isEnding ? $0.pipe.isEnded : $0.pipe.isOver }) else { return }
        self.close()
    }

    private func close() {
        self.isOver()
        for channel in [self.client, self.server] { channel?.close(promise: nil) }
    }

    /// Call before closing the channels, because closing them calls the link again.
    private func isOver() {
        guard !self.isClosed else { return }
        self.isClosed = true
        for direction in ProxyDirection.allCases { self[direction].timer?.cancel() }
        let (toServer, toClient) = (self.toServer.pipe.forwardedBytes, self.toClient.pipe.forwardedBytes)
        self.proxy.assumeIsolated { $0.closed(self.number, toServer: toServer, toClient: toClient) }
    }

    private nonisolated func enqueue(_ body: @escaping @Sendable (isolated ProxyLink) -> Void) {
        self.eventLoop.execute { self.assumeIsolated { body($0) } }
    }
}
