import ArgumentParser
import NestClient
import NestModel

/// An item on the command line, with the server that it is on: `ID` or `ID@SERVER`.
struct EndpointArgument {
    /// The name of a context, or an address as for `--server`. `nil`: the server of the command.
    let server: String?
    let id: ObjectID

    init(_ argument: String) throws {
        if let id = IDArgument(argument: argument) {
            self.server = nil
            self.id = id.id
            return
        }
        guard let at = argument.firstIndex(of: "@") else { throw Self.withoutID(argument) }
        let (text, server) = (argument[..<at], String(argument[argument.index(after: at)...]))
        guard let id = IDArgument(argument: String(text)) else {
            throw ValidationError("'\(text)' is not an id; an item on a server is ID@SERVER, such as 7@\(server)")
        }
        self.server = server
        self.id = id.id
        // A name may be that of a context, which is looked up when the command runs.
        guard !SavedContext.isName(server) else { return }
        do {
            _ = try ServerAddresses(server)
        } catch {
            throw ValidationError(error.message)
        }
    }

    /// The fault of an argument with neither an id nor `@`. It may have the form `SERVER:ID`, of which the last number
    /// could also be a port: it is refused with all its readings.
    private static func withoutID(_ argument: String) -> ValidationError {
        let form = "an item is ID, or ID@SERVER on another server"
        guard let colon = argument.lastIndex(of: ":"),
            let id = IDArgument(argument: String(argument[argument.index(after: colon)...]))
        else { return ValidationError("'\(argument)' is not an item: \(form), such as 7@127.0.0.1:7000") }
        var readings: [String] = []
        if let host = try? ServerAddress(String(argument[..<colon])) {
            readings.append("\(id.id)@\(argument[..<colon]) for the item \(id.id) on the server \(host)")
        }
        if let whole = try? ServerAddress(argument) {
            readings.append("ID@\(argument) for an item on the server \(whole)")
        }
        guard !readings.isEmpty else { return ValidationError("'\(argument)' is not an item: \(form)") }
        return ValidationError("'\(argument)' is not an item: \(form). Write \(readings.joined(separator: ", or "))")
    }
}
