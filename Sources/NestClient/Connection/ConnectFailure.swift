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

/// Says in words why a connection could not be made.
enum ConnectFailure {
    static func nestError(_ error: any Error, _ configuration: ClientConfiguration) -> NestError {
        let place = "\(configuration.host):\(configuration.port)"
        if let error = error as? NestError { return error }
        guard let failure = error as? NIOConnectionError else {
            if case ChannelError.connectTimeout = error {
                return NestError(.unreachable, "cannot connect to \(place): no answer in time")
            }
            return NestError(.unreachable, "cannot connect to \(place): \(error)")
        }
        if failure.dnsAError != nil, failure.connectionErrors.isEmpty {
            return NestError(.unreachable, "cannot connect to \(place): the host '\(configuration.host)' is not known")
        }
        guard let first = failure.connectionErrors.first else {
            return NestError(.unreachable, "cannot connect to \(place)")
        }
        if case ChannelError.connectTimeout = first.error {
            return NestError(.unreachable, "cannot connect to \(place): no answer in time")
        }
        guard let io = first.error as? IOError else {
            return NestError(.unreachable, "cannot connect to \(place): \(first.error)")
        }
        switch io.errnoCode {
        case ECONNREFUSED:
            return NestError(.unreachable, "cannot connect to \(place): nothing listens there; is nestd running?")
        case ETIMEDOUT: return NestError(.unreachable, "cannot connect to \(place): no answer in time")
        default: return NestError(.unreachable, "cannot connect to \(place): \(io.description)")
        }
    }
}
