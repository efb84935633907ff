import Glibc
import NIOCore

/// Finds a port on which nothing listens.
package enum FreePort {
    /// Returns a free port of an address, or `nil` if the address is not one of this machine. Another program may take
    /// it before the caller does.
    package static func find(_ host: String) -> Int? {
        guard let address = try? SocketAddress.makeAddressResolvingHost(host, port: 0) else { return nil }
        return address.withSockAddr { pointer, size -> Int? in
            let descriptor = socket(Int32(pointer.pointee.sa_family), Int32(SOCK_STREAM.rawValue), 0)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            guard bind(descriptor, pointer, socklen_t(size)) == 0 else { return nil }
            var bound = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let result = withUnsafeMutablePointer(to: &bound) { bound in
                bound.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
            }
            guard result == 0 else { return nil }
            return withUnsafeBytes(of: bound) { bytes in
                // The port has the same place in both families.
                Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
            }
        }
    }
}
