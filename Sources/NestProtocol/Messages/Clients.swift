import NestModel

/// Requests the list of connections, in pages. For operators.
package struct GetClients: Query, Equatable {
    package typealias Answer = Clients
    package static let type = MessageType.getClients
    /// Lists only connections with a higher number; 0 for the first page.
    package var after: UInt64
    package var limit: Int

    package init(after: UInt64, limit: Int) {
        self.after = after
        self.limit = limit
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.after = try reader.varint("after")
        self.limit = try reader.index("limit")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: self.after)
        writer.write(count: self.limit)
    }
}

/// The reply: connections, ascending by number.
package struct Clients: Message, Equatable {
    package static let type = MessageType.clients
    package var clients: [ConnectedClient]

    package init(_ clients: [ConnectedClient]) {
        self.clients = clients
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.clients = []
        for _ in 0..<(try reader.count("clients", max: Limits.clientsPageMax, bytesEach: 11)) {
            self.clients.append(
                ConnectedClient(
                    number: try reader.varint("number"),
                    address: try reader.string("address", max: Limits.nameBytesMax),
                    name: try reader.string("name", max: Limits.nameBytesMax),
                    sessionNumber: try reader.varint("session"),
                    connectedAt: Int64(try reader.varint("connected at")),
                    subscriptions: try reader.index("subscriptions"),
                    requests: try reader.index("requests"),
                    requestsInFlight: try reader.index("requests in flight"),
                    bytesIn: try reader.index("bytes in"),
                    bytesOut: try reader.index("bytes out"),
                    bytesQueued: try reader.index("bytes queued")
                )
            )
        }
        for (index, user) in try reader.users(count: self.clients.count).enumerated() {
            self.clients[index].user = user
        }
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: self.clients.count)
        for client in self.clients {
            writer.write(varint: client.number)
            writer.write(string: client.address)
            writer.write(string: client.name)
            writer.write(varint: client.sessionNumber)
            writer.write(varint: UInt64(max(0, client.connectedAt)))
            writer.write(count: client.subscriptions)
            writer.write(count: client.requests)
            writer.write(count: client.requestsInFlight)
            writer.write(count: client.bytesIn)
            // Under TLS the queued bytes are encrypted and may exceed all bytes written.
            writer.write(count: max(0, client.bytesOut))
            writer.write(count: client.bytesQueued)
        }
        writer.write(users: self.clients.map(\.user))
    }
}

/// Closes another client's connection. For operators.
package struct Kick: Query, Equatable {
    package typealias Answer = Done
    package static let type = MessageType.kick
    package var number: UInt64

    package init(number: UInt64) {
        self.number = number
    }

    package init(from reader: inout ByteReader) throws(DecodingFailure) {
        self.number = try reader.varint("number")
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(varint: self.number)
    }
}
