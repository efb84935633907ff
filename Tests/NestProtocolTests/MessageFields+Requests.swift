import NestModel
import NestTestSupport
import NestProtocol

private func fields(_ assignments: [PropertyAssignment]) -> JSONValue {
    JSONValue(
        list: assignments.map { assignment in
            switch assignment.value {
            case .value(let value): ["property": JSONValue(assignment.property), "value": JSONValue(value)]
            case .reference(let reference):
                ["property": JSONValue(assignment.property), "reference": JSONValue(reference)]
            }
        }
    )
}

private func fields(_ mutation: Mutation) -> JSONValue {
    switch mutation {
    case .insert(let entity, let values, let placements):
        [
            "insert": [
                "entity": JSONValue(count: Int(entity.rawValue)), "values": fields(values),
                "placements": JSONValue(list: placements.map { JSONValue($0) }),
            ]
        ]
    case .update(let object, let values):
        ["update": ["object": JSONValue(object), "values": fields(values)]]
    case .move(let object, let placement):
        ["move": ["object": JSONValue(object), "placement": JSONValue(placement)]]
    case .delete(let object):
        ["delete": ["object": JSONValue(object)]]
    case .relate(let owner, let relationship, let object, let place):
        [
            "relate": [
                "owner": JSONValue(owner), "relationship": JSONValue(relationship), "object": JSONValue(object),
                "place": JSONValue(place),
            ]
        ]
    case .unrelate(let owner, let relationship, let object):
        [
            "unrelate": [
                "owner": JSONValue(owner), "relationship": JSONValue(relationship), "object": JSONValue(object),
            ]
        ]
    case .setRelated(let owner, let relationship, let objects):
        [
            "setRelated": [
                "owner": JSONValue(owner), "relationship": JSONValue(relationship),
                "objects": JSONValue(list: objects.map { JSONValue($0) }),
            ]
        ]
    case .findOrCreate(let entity, let match, let values, let placements):
        [
            "findOrCreate": [
                "entity": JSONValue(count: Int(entity.rawValue)), "match": fields(match), "values": fields(values),
                "placements": JSONValue(list: placements.map { JSONValue($0) }),
            ]
        ]
    case .insertAs(let id, let entity, let values, let placements):
        [
            "insertAs": [
                "object": .integer(id.rawValue), "entity": JSONValue(count: Int(entity.rawValue)),
                "values": fields(values), "placements": JSONValue(list: placements.map { JSONValue($0) }),
            ]
        ]
    }
}

extension TransactionMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        var fields: [String: JSONValue] = [
            "key": JSONValue(key: self.transaction.key),
            "name": self.transaction.name.map { .string($0) } ?? .null,
            "preconditions": JSONValue(
                list: self.transaction.preconditions.map {
                    ["object": .integer($0.object.rawValue), "revision": JSONValue($0.revision)]
                }
            ),
            "mutations": JSONValue(list: self.transaction.mutations.map { NestProtocolTests.fields($0) }),
        ]
        if let coalescing = self.transaction.coalescing {
            fields["coalescing"] = [
                "key": .string(coalescing.key), "milliseconds": JSONValue(count: coalescing.milliseconds),
            ]
        }
        return .object(fields)
    }
}

extension ReceiptMessage: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        var fields: [String: JSONValue] = [
            "revision": JSONValue(self.receipt.revision), "isChanged": .bool(self.receipt.isChanged),
            "isReplayed": .bool(self.receipt.isReplayed),
            "results": JSONValue(
                list: self.receipt.results.map {
                    [
                        "first": .integer($0.first.rawValue), "count": JSONValue(count: $0.count),
                        "isFound": .bool($0.isFound),
                    ]
                }
            ),
            "name": .string(self.receipt.name),
        ]
        if !self.receipt.conflicts.isEmpty { fields["conflicts"] = JSONValue(self.receipt.conflicts) }
        return .object(fields)
    }
}

extension GetHistory: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        var fields: [String: JSONValue] = [
            "before": JSONValue(self.before), "limit": JSONValue(count: self.limit), "onlyMine": .bool(self.onlyMine),
        ]
        if let object { fields["object"] = .integer(object.rawValue) }
        return .object(fields)
    }
}

extension History: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "entries": JSONValue(
                list: self.entries.map { entry in
                    var fields: [String: JSONValue] = [
                        "revision": JSONValue(entry.revision), "time": .integer(entry.time),
                        "sessionNumber": .integer(Int64(entry.sessionNumber)), "kind": .string("\(entry.kind)"),
                        "reverted": entry.reverted.map { JSONValue($0) } ?? .null, "name": .string(entry.name),
                        "isMine": .bool(entry.isMine), "isNextUndo": .bool(entry.isNextUndo),
                        "isNextRedo": .bool(entry.isNextRedo),
                    ]
                    if entry.isBlocked { fields["isBlocked"] = true }
                    if let first = entry.entry { fields["entry"] = JSONValue(first) }
                    fields.add(entry.user)
                    return .object(fields)
                }
            )
        ]
    }
}

extension Fetch: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        ["atLeast": JSONValue(self.atLeast), "request": JSONValue(self.request)]
    }
}

extension GetObject: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["id": .integer(self.id.rawValue)] }
}

extension FetchSubtree: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "atLeast": JSONValue(self.atLeast), "root": .integer(self.request.root.rawValue),
            "relationship": JSONValue(self.request.relationship),
            "depthLimit": self.request.depthLimit.map { JSONValue(count: $0) } ?? .null,
            "properties": JSONValue(properties: self.request.properties),
        ]
    }
}

extension ImportSubtree: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "key": JSONValue(key: self.request.key), "name": self.request.name.map { .string($0) } ?? .null,
            "entity": JSONValue(count: Int(self.request.entity.rawValue)),
            "placement": JSONValue(self.request.placement),
            "properties": JSONValue(properties: self.request.properties),
        ]
    }
}

extension Subscribe: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue {
        [
            "resume": self.resume.map {
                ["historyID": .string($0.historyID.hex), "revision": JSONValue($0.revision)]
            } ?? .null,
            "atLeast": JSONValue(self.atLeast), "request": JSONValue(self.request),
        ]
    }
}

extension Unsubscribe: DescribedMessage {
    func fields(valueCount: Int) throws -> JSONValue { ["view": .integer(Int64(self.view))] }
}
