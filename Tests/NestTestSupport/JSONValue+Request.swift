import NestModel

/// The form of requests in the vectors.
extension JSONValue {
    /// `leaf`: 0 the object, 1 the attribute `property`, 2 the number of objects of the relationship `property`, 3 the
    /// `function` of the `attribute` of its objects, 4 the number of its objects for which `predicate` is true.
    public init(_ path: PropertyPath) {
        let steps = JSONValue(list: path.steps.map { JSONValue($0) })
        switch path.leaf {
        case .object: self = ["steps": steps, "leaf": 0]
        case .attribute(let property): self = ["steps": steps, "leaf": 1, "property": JSONValue(property)]
        case .count(let property): self = ["steps": steps, "leaf": 2, "property": JSONValue(property)]
        case .countWhere(let relationship, let predicate):
            var writer = ByteWriter()
            writer.write(predicate: predicate)
            self = [
                "steps": steps, "leaf": 4, "property": JSONValue(relationship),
                "predicate": .string(Hex.text(writer.bytes)),
            ]
        case .aggregate(let function, let relationship, let attribute):
            self = [
                "steps": steps, "leaf": 3, "function": JSONValue(count: Int(function.rawValue)),
                "property": JSONValue(relationship), "attribute": JSONValue(attribute),
            ]
        }
    }

    /// `folding`: 1 for `[c]`, 2 for `[d]`, 3 for both.
    public init(_ request: ObjectFetchRequest) {
        var predicate = ByteWriter()
        if !request.predicate.nodes.isEmpty { predicate.write(predicate: request.predicate) }
        var members: [String: JSONValue] = [
            "entity": .integer(Int64(request.entity.rawValue)),
            "source": request.source.map {
                ["object": .integer($0.object.rawValue), "relationship": JSONValue($0.relationship)]
            } ?? .null,
            "projection": JSONValue(list: request.projection.map { JSONValue($0) }),
            "sort": JSONValue(
                list: request.sort.map { term in
                    guard case .path(let path) = term.key else { return ["order": true] }
                    return [
                        "path": JSONValue(path), "descending": .bool(!term.isAscending),
                        "folding": .integer(Int64(term.folding.rawValue)),
                    ]
                }
            ),
            "predicate": request.predicate.nodes.isEmpty ? .null : .string(Hex.text(predicate.bytes)),
            "columns": JSONValue(list: request.columns.map { JSONValue($0) }),
            "section": request.section.map {
                ["function": .integer(Int64($0.function.rawValue)), "path": JSONValue($0.path)]
            } ?? .null,
            "window": JSONValue(request.window),
        ]
        if let outline = request.outline { members["outline"] = JSONValue(outline) }
        self = .object(members)
    }

    /// `expansion`: `none`, `all`, `asBefore`, or the attribute.
    public init(_ outline: FetchOutline) {
        let expansion: JSONValue =
            switch outline.expansion {
            case .none: "none"
            case .all: "all"
            case .attribute(let property): ["attribute": JSONValue(property)]
            case .asBefore: "asBefore"
            }
        self = [
            "expansion": expansion,
            "exceptions": JSONValue(list: outline.exceptions.map { .integer($0.rawValue) }),
        ]
    }

    public init(_ window: FetchWindow?) {
        switch window {
        case nil: self = .null
        case .range(let offset, let limit):
            self = ["offset": JSONValue(count: offset), "limit": JSONValue(count: limit)]
        case .around(let anchor, let before, let after):
            self = [
                "anchor": .integer(anchor.rawValue), "before": JSONValue(count: before),
                "after": JSONValue(count: after),
            ]
        }
    }
}
