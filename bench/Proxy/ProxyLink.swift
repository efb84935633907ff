import NIOCore
import NIOPosix

#if canImport(Glibc)
import Glibc
#endif

/// One connection through the proxy: two channels, and a pipe for each way. Does what the pipes decide.
///
/// Neither channel reads by itself: each is read when its pipe wants more, and a pipe writes its next piece when the
/// socket has taken the last, so that a slow receiver slows the sender down.
actor ProxyLink {
    private struct Lane {
        var pipe: ProxyPipe
        var isReading = false
        var isWriting = false
        /// The receiver was told the end.
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
    /// Nothing is forwarded any more.
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

    /// The other side is there; `nil`: it cannot be reached.
    func connected(_ server: (any Channel)?) {
        guard let server, !self.isClosed else {
            server?.close(promise: nil)
            return self.reset()
        }
        self.server = server
        for direction in ProxyDirection.allCases { self.advance(direction) }
    }

    func begin(_ faults: Faults) {
        // What was swallowed is missing: such a connection must not go on.
        if self.toServer.pipe.hasLost || self.toClient.pipe.hasLost { return self.reset() }
        for direction in ProxyDirection.allCases {
            self[direction].pipe.begin(faults)
            self.advance(direction)
        }
    }

    /// Both sides see a RST.
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

    /// The sender has no more, or is gone.
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
                // In a turn of its own, so that pieces stay pieces. A failure shows when the channel closes.
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
            self.tell(.cut, direction)
            self.cut()
        case .reset:
            self.tell(.reset, direction)
            self.reset()
        }
    }

    private func tell(_ kind: Faults.Break, _ direction: ProxyDirection) {
        let bytes = self[direction].pipe.forwardedBytes
        self.proxy.assumeIsolated { $0.tell(.broken(link: self.number, kind, direction, bytes: bytes)) }
    }

    /// Both sides see the end after the last byte that was forwarded; what they still send is read and forgotten, for
    /// closing a socket with unread bytes would be a reset.
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

    /// Before the channels are closed, since that comes back here.
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
