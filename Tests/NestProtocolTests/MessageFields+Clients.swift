import NestModel
import NestTestSupport
import NestProtocol

/// The fields of the messages for operators.
extension GetClients: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["after": .integer(Int64(self.after)), "limit": JSONValue(count: self.limit)]
    }
}

extension Clients: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["clients": JSONValue(list: self.clients.map { Self.fields($0) })]
    }

    private static func fields(_ client: ConnectedClient) -> JSONValue {
        var fields: [String: JSONValue] = [
            "number": .integer(Int64(client.number)), "address": .string(client.address), "name": .string(client.name),
            "session": .integer(Int64(client.sessionNumber)), "connectedAt": .integer(client.connectedAt),
            "subscriptions": JSONValue(count: client.subscriptions), "requests": JSONValue(count: client.requests),
            "requestsInFlight": JSONValue(count: client.requestsInFlight), "bytesIn": JSONValue(count: client.bytesIn),
            "bytesOut": JSONValue(count: client.bytesOut), "bytesQueued": JSONValue(count: client.bytesQueued),
        ]
        fields.add(client.user)
        return .object(fields)
    }
}

extension Kick: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["number": .integer(Int64(self.number))] }
}
