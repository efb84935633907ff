import NIOCore
import NestFuzzing
import NestModel
import NestTestSupport
import NestProtocol
import NestFraming

/// A message that returns its fields in the form of the vectors.
protocol DescribedMessage: Message {
    /// Returns the fields. `valueCount`: the number of values of a row, if the body does not contain it.
    func fields(valueCount: Int) throws -> JSONValue
    /// Returns the fields. `hasWindow`: whether the view has a window, which only a diff depends on.
    func fields(valueCount: Int, hasWindow: Bool) throws -> JSONValue
}

extension DescribedMessage {
    func fields(valueCount: Int, hasWindow: Bool) throws -> JSONValue { try self.fields(valueCount: valueCount) }

    /// Returns the fields, decoded with the value count and the window that the vector `known` has.
    func fields(as known: JSONValue) throws -> JSONValue {
        try self.fields(valueCount: known.optional("valueCount")?.int ?? 0, hasWindow: known.optional("window") != nil)
    }
}

/// Every message by its type.
enum MessageCatalogue {
    static func message(_ type: MessageType) -> any DescribedMessage.Type {
        guard let message = type.message as? any DescribedMessage.Type else {
            preconditionFailure("\(type) is not a DescribedMessage")
        }
        return message
    }

    /// Returns the type with this name in the vectors.
    static func type(named name: String) -> MessageType? {
        MessageType.allCases.first { "\($0)" == name }
    }

    /// Decodes a body to its last field, including the values of rows if their number is known.
    static func decode(
        _ type: MessageType,
        body: ByteBuffer,
        valueCount: Int?,
        hasWindow: Bool = false
    ) throws -> any DescribedMessage {
        let message = try Self.message(type).init(body: body)
        if let valueCount = valueCount ?? (type == .snapshotSections ? 0 : nil) {
            _ = try message.fields(valueCount: valueCount, hasWindow: hasWindow)
        }
        return message
    }
}

extension JSONValue {
    init(key: Identifier128?) {
        self = key.map { .string($0.hex) } ?? .null
    }

    init(properties: [PropertyNumber]) {
        self.init(list: properties.map { JSONValue($0) })
    }

    init(_ reference: ObjectReference) {
        self = .integer(reference.rawValue)
    }

    init(_ place: Place) {
        switch place {
        case .last: self = "last"
        case .first: self = "first"
        case .before(let reference): self = ["before": JSONValue(reference)]
        case .after(let reference): self = ["after": JSONValue(reference)]
        case .at(let index): self = ["at": JSONValue(count: index)]
        case .near(let left, let right):
            self = [
                "near": ["left": left.map { JSONValue($0) } ?? .null, "right": right.map { JSONValue($0) } ?? .null]
            ]
        }
    }

    init(_ placement: Placement) {
        self = [
            "relationship": JSONValue(placement.relationship), "owner": JSONValue(placement.owner),
            "place": JSONValue(placement.place),
        ]
    }

    init(_ request: ObjectFetchRequest) {
        var fields: [String: JSONValue] = [
            "entity": JSONValue(count: Int(request.entity.rawValue)),
            "source": request.source.map {
                ["object": .integer($0.object.rawValue), "relationship": JSONValue($0.relationship)]
            } ?? .null,
            "projection": JSONValue(properties: request.projection),
            "sort": JSONValue(
                list: request.sort.map { descriptor in
                    var key: JSONValue = "order"
                    if case .path(let path) = descriptor.key { key = JSONValue(path) }
                    return [
                        "key": key, "isAscending": .bool(descriptor.isAscending),
                        "folding": JSONValue(count: Int(descriptor.folding.rawValue)),
                    ]
                }
            ),
        ]
        if !request.columns.isEmpty { fields["columns"] = JSONValue(list: request.columns.map { JSONValue($0) }) }
        if let section = request.section {
            fields["section"] = ["function": .string(section.function.name), "path": JSONValue(section.path)]
        }
        switch request.window {
        case nil: break
        case .range(let offset, let limit):
            fields["window"] = ["offset": JSONValue(count: offset), "limit": JSONValue(count: limit)]
        case .around(let anchor, let before, let after):
            fields["window"] = [
                "around": .integer(anchor.rawValue), "before": JSONValue(count: before),
                "after": JSONValue(count: after),
            ]
        }
        if !request.predicate.nodes.isEmpty {
            fields["predicate"] = JSONValue(list: request.predicate.nodes.map { JSONValue($0) })
        }
        if let outline = request.outline { fields["outline"] = JSONValue(outline) }
        if !request.totals.isEmpty {
            fields["totals"] = JSONValue(
                list: request.totals.map { total in
                    guard case .function(let function, let path) = total else { return ["function": "count"] }
                    return ["function": .string(function.name), "path": JSONValue(path)]
                }
            )
        }
        self = .object(fields)
    }

    init(_ path: PropertyPath) {
        self = ["steps": JSONValue(properties: path.steps), "leaf": JSONValue(path.leaf)]
    }

    init(_ leaf: PropertyPath.Leaf) {
        switch leaf {
        case .object: self = "object"
        case .attribute(let property): self = ["attribute": JSONValue(property)]
        case .count(let property): self = ["count": JSONValue(property)]
        case .countWhere(let relationship, let predicate):
            self = ["count": JSONValue(relationship), "where": JSONValue(list: predicate.nodes.map { JSONValue($0) })]
        case .aggregate(let function, let relationship, let attribute):
            self = ["\(function.name)": JSONValue(relationship), "attribute": JSONValue(attribute)]
        }
    }

    init(_ node: FetchPredicate.Node) {
        switch node {
        case .constant(let value): self = ["constant": .bool(value)]
        case .not: self = "not"
        case .and(let count): self = ["and": JSONValue(count: count)]
        case .or(let count): self = ["or": JSONValue(count: count)]
        case .comparison(let comparison):
            self = [
                "quantifier": JSONValue(count: Int(comparison.quantifier.rawValue)),
                "steps": JSONValue(properties: comparison.path.steps), "leaf": JSONValue(comparison.path.leaf),
                "operator": JSONValue(count: Int(comparison.operator.rawValue)),
                "folding": JSONValue(count: Int(comparison.folding.rawValue)),
                "values": JSONValue(list: comparison.values.map { JSONValue($0) }),
            ]
        }
    }
}

extension Hello: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        var fields: [String: JSONValue] = [
            "clientName": .string(self.clientName), "features": .string(Hex.text(self.features.rawValue)),
            "session": .string(self.session.hex), "expectedHistory": JSONValue(key: self.expectedHistory),
            "expectedModelHash": self.expectedModelHash.map { .string(Hex.text($0)) } ?? .null,
            "token": self.token.map { token in
                ["number": .integer(Int64(token.number)), "secret": JSONValue(secret: token.secret)]
            } ?? .null,
        ]
        if let peer {
            fields["peer"] = ["node": .string(peer.node.hex), "secret": JSONValue(secret: peer.secret)]
        }
        if !self.user.isEmpty { fields["user"] = .string(self.user) }
        return .object(fields)
    }
}

extension Welcome: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        var fields: [String: JSONValue] = [
            "serverName": .string(self.serverName), "features": .string(Hex.text(self.features.rawValue)),
            "frameBytesMax": JSONValue(count: self.frameBytesMax), "historyID": .string(self.historyID.hex),
            "revision": JSONValue(self.revision), "oldestRevision": JSONValue(self.oldestRevision),
            "modelHash": .string(Hex.text(self.modelHash)), "sessionNumber": .integer(Int64(self.sessionNumber)),
            "pingIntervalMilliseconds": JSONValue(count: self.pingIntervalMilliseconds),
            "requestsInFlightMax": JSONValue(count: self.requestsInFlightMax),
            "subscriptionsMax": JSONValue(count: self.subscriptionsMax),
            "creditBytesInitial": JSONValue(count: self.creditBytesInitial), "role": .string("\(self.role)"),
            "confinement": JSONValue(confinement: self.confinement),
        ]
        if let replica = self.replica {
            fields["replica"] = [
                "store": .string(replica.store), "role": .string("\(replica.role)"),
                "leader": replica.leader.map { .string($0) } ?? .null,
            ]
        }
        if let user { fields["user"] = .string(user) }
        if let tokenExpires { fields["tokenExpires"] = .integer(tokenExpires) }
        return .object(fields)
    }
}

extension ErrorMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        var fields: [String: JSONValue] = [
            "code": .string("\(self.error.code)"), "retry": .integer(Int64(self.retry.rawValue)),
            "retryAfterMilliseconds": JSONValue(count: self.retryAfterMilliseconds),
            "message": .string(self.error.message), "object": self.error.object.map { .integer($0.rawValue) } ?? .null,
            "faults": JSONValue(
                list: self.error.faults.map { fault in
                    [
                        "entity": JSONValue(count: Int(fault.entity.rawValue)),
                        "property": fault.property.map { JSONValue($0) } ?? .null,
                        "object": fault.object.map { .integer($0.rawValue) } ?? .null,
                        "reason": .string("\(fault.reason)"), "message": .string(fault.message),
                    ]
                }
            ),
        ]
        if let leader = self.error.leader { fields["leader"] = .string(leader) }
        if let column = self.error.column { fields["column"] = JSONValue(count: column) }
        return .object(fields)
    }
}

extension GoAway: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "code": .string("\(self.code)"), "lastRequestID": .integer(Int64(self.lastRequestID)),
            "retryAfterMilliseconds": JSONValue(count: self.retryAfterMilliseconds), "message": .string(self.message),
        ]
    }
}

extension Ping: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["payload": .string(Hex.text(self.payload))] }
}

extension Pong: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["payload": .string(Hex.text(self.payload))] }
}

extension EmptyMessage {
    func fields(valueCount: Int) throws -> JSONValue { [:] }
}

extension Cancel: DescribedMessage {}
extension Done: DescribedMessage {}
extension GetModel: DescribedMessage {}
extension GetStatistics: DescribedMessage {}

extension Credit: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["bytes": JSONValue(count: self.bytes)] }
}
