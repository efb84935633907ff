import ArgumentParser
import NestModel

/// An item on the command line, with the server that it is on: `ID` or `SERVER:ID`.
struct EndpointArgument: ExpressibleByArgument {
    /// The name of a context, or an address as for `--server`. `nil`: the server of the command.
    let server: String?
    let id: ObjectID

    init?(argument: String) {
        if let id = IDArgument(argument: argument) {
            self.server = nil
            self.id = id.id
            return
        }
        // The last colon precedes the id. Others may precede a port or be part of an address.
        guard let colon = argument.lastIndex(of: ":"),
            let id = IDArgument(argument: String(argument[argument.index(after: colon)...]))
        else { return nil }
        let server = String(argument[..<colon])
        guard !server.isEmpty, (try? ConnectOptions.address(server)) != nil else { return nil }
        self.server = server
        self.id = id.id
    }
}
