import NIOCore
import NIOPosix
import NestModel

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// Describes why a connection could not be made.
enum ConnectFailure {
    static func nestError(_ error: any Error, _ configuration: ClientConfiguration) -> NestError {
        let address = "\(configuration.host):\(configuration.port)"
        if let error = error as? NestError { return error }
        guard let failure = error as? NIOConnectionError else {
            if case ChannelError.connectTimeout = error {
                return NestError(.unreachable, "cannot connect to \(address): no answer in time")
            }
            return NestError(.unreachable, "cannot connect to \(address): \(error)")
        }
        if failure.dnsAError != nil, failure.connectionErrors.isEmpty {
            return NestError(.unreachable, "cannot connect to \(address): unknown host '\(configuration.host)'")
        }
        guard let first = failure.connectionErrors.first else {
            return NestError(.unreachable, "cannot connect to \(address)")
        }
        if case ChannelError.connectTimeout = first.error {
            return NestError(.unreachable, "cannot connect to \(address): no answer in time")
        }
        guard let io = first.error as? IOError else {
            return NestError(.unreachable, "cannot connect to \(address): \(first.error)")
        }
        switch io.errnoCode {
        case ECONNREFUSED:
            return NestError(.unreachable, "cannot connect to \(address): nothing listens there; is nestd running?")
        case ETIMEDOUT: return NestError(.unreachable, "cannot connect to \(address): no answer in time")
        default: return NestError(.unreachable, "cannot connect to \(address): \(io.description)")
        }
    }
}
