import CLimits
import Dispatch
import Foundation
import NIOConcurrencyHelpers

/// A server of a limit on a thread of the tests.
final class LimitUnderTest {
    private let listener: Int32
    private let port: UInt16
    private var file: nest_limit_file?
    private let failure = NIOLockedValueBox<String?>(nil)
    private let end = DispatchGroup()

    init(_ serve: @escaping @Sendable (Int32) -> UnsafePointer<CChar>?) throws {
        var (listener, port) = (Int32(-1), UInt16(0))
        guard nest_limit_listen(&listener, &port) == nil else { throw POSIXError(.EIO) }
        (self.listener, self.port) = (listener, port)
        self.end.enter()
        Thread { [listener, failure = self.failure, end = self.end] in
            let call = serve(listener)
            let reason = errno
            failure.withLockedValue { $0 = call.map { "\(String(cString: $0)): \(String(cString: strerror(reason)))" } }
            end.leave()
        }.start()
    }

    /// Without a file, the fan-out gets a new one.
    convenience init(fanout sizes: nest_limit_sizes, file given: nest_limit_file? = nil) throws {
        var file = nest_limit_file()
        if let given {
            file = given
        } else {
            guard nest_limit_file_open(&file, NSTemporaryDirectory()) == nil else { throw POSIXError(.EIO) }
        }
        let used = file
        try self.init { listener in
            var file = used
            return nest_limit_fanout(listener, &file, sizes)
        }
        if given == nil { self.file = file }
    }

    func connect() throws -> LimitSocket { try LimitSocket(port: self.port) }

    func fileBytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        return pread(self.file?.descriptor ?? -1, &bytes, count, 0) == count ? bytes : []
    }

    /// Ends the server. Returns its failure.
    func stop() -> String? {
        shutdown(self.listener, Int32(SHUT_RDWR))
        self.end.wait()
        return self.failure.withLockedValue { $0 }
    }

    deinit {
        _ = self.stop()
        close(self.listener)
        if var file { nest_limit_file_close(&file) }
    }
}

/// A connection that waits for what it sends and receives.
final class LimitSocket: Sendable {
    private let socket: Int32

    init(port: UInt16) throws {
        self.socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(self.socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw POSIXError(.ECONNREFUSED) }
    }

    deinit { close(self.socket) }

    func send(_ bytes: [UInt8]) {
        var start = 0
        while start < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(self.socket, $0.baseAddress! + start, $0.count - start, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            start += count
        }
    }

    /// Returns fewer bytes if the connection ends.
    func receive(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let received = recv(self.socket, &bytes, count, Int32(MSG_WAITALL))
        return Array(bytes.prefix(max(received, 0)))
    }

    /// Returns the next frame; `nil` if the connection ends before its end.
    func frame() -> [UInt8]? {
        let header = self.receive(Int(NEST_LIMIT_HEADER_BYTES))
        guard header.count == NEST_LIMIT_HEADER_BYTES else { return nil }
        let count = header.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        let body = count == 0 ? [] : self.receive(count)
        return body.count == count ? header + body : nil
    }
}
