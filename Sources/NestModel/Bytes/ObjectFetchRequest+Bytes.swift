/// The byte form of a fetch request.
extension ByteWriter {
    /// Writes the entity, then tagged fields: 1 source, 2 projection, 3 sort, 4 predicate, 5 columns, 6 section, 7
    /// window by rows, 8 window around an object, 9 outline, 10 totals. A server refuses a tag it does not know.
    package mutating func write(fetchRequest request: ObjectFetchRequest) {
        var fields: [(tag: Int, bytes: [UInt8])] = []
        func add(_ tag: Int, _ write: (inout ByteWriter) -> Void) {
            var field = ByteWriter()
            write(&field)
            fields.append((tag, field.bytes))
        }
        if let source = request.source {
            add(1) {
                $0.write(objectID: source.object)
                $0.write(count: Int(source.relationship.rawValue))
            }
        }
        if !request.projection.isEmpty { add(2) { $0.write(properties: request.projection) } }
        if !request.sort.isEmpty { add(3) { $0.write(sort: request.sort) } }
        if !request.predicate.nodes.isEmpty { add(4) { $0.write(predicate: request.predicate) } }
        if !request.columns.isEmpty {
            add(5) {
                $0.write(count: request.columns.count)
                for path in request.columns { $0.write(path: path) }
            }
        }
        if let section = request.section {
            add(6) {
                $0.write(byte: section.function.rawValue)
                $0.write(path: section.path)
            }
        }
        switch request.window {
        case nil: break
        case .range(let offset, let limit):
            add(7) {
                $0.write(count: offset)
                $0.write(count: limit)
            }
        case .around(let anchor, let before, let after):
            add(8) {
                $0.write(objectID: anchor)
                $0.write(count: before)
                $0.write(count: after)
            }
        }
        if let outline = request.outline { add(9) { $0.write(outline: outline) } }
        if !request.totals.isEmpty { add(10) { $0.write(totals: request.totals) } }
        self.write(count: Int(request.entity.rawValue))
        self.write(count: fields.count)
        for field in fields {
            self.write(count: field.tag)
            self.write(lengthPrefixed: field.bytes)
        }
    }

    /// Writes each sort key: 0 ascending, 1 descending; plus 2 for `[c]`, 4 for `[d]`, 8 for the order, which has no
    /// path.
    private mutating func write(sort: [OrderingTerm]) {
        self.write(count: sort.count)
        for descriptor in sort {
            let flags = (descriptor.isAscending ? 0 : 1) | descriptor.folding.rawValue << 1
            switch descriptor.key {
            case .order:
                self.write(byte: flags | 8)
            case .path(let path):
                self.write(byte: flags)
                self.write(path: path)
            }
        }
    }

    /// Writes the kind of expansion, its attribute (0: none), and the exceptions.
    private mutating func write(outline: FetchOutline) {
        var attribute = PropertyNumber(0)
        switch outline.expansion {
        case .none: self.write(byte: 0)
        case .all: self.write(byte: 1)
        case .attribute(let property):
            self.write(byte: 2)
            attribute = property
        case .asBefore: self.write(byte: 3)
        }
        self.write(count: Int(attribute.rawValue))
        self.write(count: outline.exceptions.count)
        for object in outline.exceptions { self.write(objectID: object) }
    }

    /// Writes each total: 0 for the number of rows, or the function and its path.
    private mutating func write(totals: [FetchTotal]) {
        self.write(count: totals.count)
        for total in totals {
            switch total {
            case .count: self.write(byte: 0)
            case .function(let function, let path):
                self.write(byte: function.rawValue)
                self.write(path: path)
            }
        }
    }

    package mutating func write(properties: [PropertyNumber]) {
        self.write(count: properties.count)
        for property in properties { self.write(count: Int(property.rawValue)) }
    }
}

extension ByteReader {
    package mutating func properties() throws(DecodingFailure) -> [PropertyNumber] {
        var properties: [PropertyNumber] = []
        let max = Limits.propertiesPerEntityMax + 1 + Limits.columnsMax + 2
        for _ in 0..<(try self.count("properties", max: max)) {
            properties.append(try self.propertyNumber("property"))
        }
        return properties
    }

    package mutating func fetchRequest() throws(DecodingFailure) -> ObjectFetchRequest {
        var request = ObjectFetchRequest(entity: try self.entityNumber("entity"))
        var previous: UInt64 = 0
        for _ in 0..<(try self.count("fetch request fields", max: 16, bytesEach: 2)) {
            let tag = try self.varint("fetch request field")
            guard tag > previous else { throw DecodingFailure(.invalidValue, "fetch request field") }
            previous = tag
            let count = try self.count("fetch request field length")
            var field = ByteReader(try self.raw(count: count, "fetch request field"))
            switch tag {
            case 1:
                request.source = FetchSource(
                    object: try field.objectID("source object"),
                    relationship: try field.propertyNumber("source relationship")
                )
            case 2: request.projection = try field.properties()
            case 3: request.sort = try field.sortDescriptors()
            case 4: request.predicate = try field.predicate()
            case 5: request.columns = try field.columns()
            case 6: request.section = try field.sectionKey()
            case 7: request.window = .range(offset: try field.index("offset"), limit: try field.index("limit"))
            case 8:
                guard request.window == nil else { throw DecodingFailure(.invalidValue, "fetch request field") }
                let anchor = try field.objectID("anchor")
                request.window = .around(anchor, before: try field.index("before"), after: try field.index("after"))
            case 9: request.outline = try field.outline()
            case 10: request.totals = try field.totals()
            default: throw DecodingFailure(.unsupported, "fetch request field")
            }
            try field.finish("fetch request field")
        }
        return request
    }

    private mutating func sortDescriptors() throws(DecodingFailure) -> [OrderingTerm] {
        var sort: [OrderingTerm] = []
        for _ in 0..<(try self.count("sort keys", max: Limits.sortKeysMax)) {
            let flags = try self.byte("sort flags")
            guard flags <= 15 else { throw DecodingFailure(.unsupported, "sort flags") }
            let key: OrderingTerm.Key = flags & 8 == 0 ? .path(try self.propertyPath()) : .order
            let folding = TextFolding(rawValue: flags >> 1 & 3)
            sort.append(OrderingTerm(key: key, isAscending: flags & 1 == 0, folding: folding))
        }
        return sort
    }

    private mutating func outline() throws(DecodingFailure) -> FetchOutline {
        let kind = try self.byte("expansion")
        let attribute = try self.propertyNumber("attribute of the expansion")
        guard kind == 2 || attribute == PropertyNumber(0) else {
            throw DecodingFailure(.invalidValue, "attribute of the expansion")
        }
        var outline = FetchOutline()
        switch kind {
        case 0: outline.expansion = .none
        case 1: outline.expansion = .all
        case 2: outline.expansion = .attribute(attribute)
        case 3: outline.expansion = .asBefore
        default: throw DecodingFailure(.unsupported, "expansion")
        }
        let max = Limits.outlineExceptionsMax
        for _ in 0..<(try self.count("exceptions", max: max)) {
            outline.exceptions.append(try self.objectID("exception"))
        }
        guard outline.expansion != .asBefore || outline.exceptions.isEmpty else {
            throw DecodingFailure(.invalidValue, "exceptions")
        }
        return outline
    }

    private mutating func totals() throws(DecodingFailure) -> [FetchTotal] {
        var totals: [FetchTotal] = []
        for _ in 0..<(try self.count("totals", max: Limits.totalsMax)) {
            let number = try self.byte("total function")
            if number == 0 {
                totals.append(.count)
            } else if let function = AggregateFunction(rawValue: number) {
                totals.append(.function(function, try self.propertyPath()))
            } else {
                throw DecodingFailure(.unsupported, "total function")
            }
        }
        return totals
    }

    private mutating func columns() throws(DecodingFailure) -> [PropertyPath] {
        var columns: [PropertyPath] = []
        for _ in 0..<(try self.count("columns", max: Limits.columnsMax, bytesEach: 2)) {
            columns.append(try self.propertyPath())
        }
        return columns
    }

    private mutating func sectionKey() throws(DecodingFailure) -> SectionKey {
        guard let function = SectionKey.Function(rawValue: try self.byte("section function")) else {
            throw DecodingFailure(.unsupported, "section function")
        }
        return SectionKey(function, of: try self.propertyPath())
    }
}
