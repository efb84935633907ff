import NestLiveQuery
import NestModel
import NestOrder
import NestStore
import NestSchema

/// Compiles the order, columns and sections of a request, or refuses them.
struct RequestOrder {
    let model: ManagedObjectModel
    let layout: ModelLayout
    let entity: EntityDescription
    private(set) var terms: [SortTerm] = []
    /// The related values that the request reads: first its columns, then those of its sort keys.
    private(set) var related: [RelatedValue] = []
    private(set) var totals: [ResultTotal] = []
    /// The number of related values that are columns of the rows: those of the request, and those of totals.
    private(set) var columnCount = 0

    init(model: ManagedObjectModel, layout: ModelLayout, entity: EntityDescription) {
        self.model = model
        self.layout = layout
        self.entity = entity
    }

    private func resolve(_ path: PropertyPath) throws(StoreError) -> ResolvedPath {
        switch path.resolve(of: self.entity, in: self.model, .one, .read) {
        case .success(let resolved): return resolved
        case .failure(let fault): throw StoreError.refused(.unknownProperty, fault.text)
        }
    }

    private func value(_ path: ResolvedPath) -> RelatedValue {
        guard let compiled = CompiledPath(path.path, of: self.entity, in: self.layout) else {
            preconditionFailure("a resolved path can be compiled")
        }
        // Without a quantifier the resolver refuses every to-many step, except the one that is counted or aggregated.
        let value: RelatedValue?
        switch path.path.leaf {
        case .object, .attribute: return .path(compiled)
        case .count: value = RelatedValue.relationshipCount(compiled)
        case .aggregate(let function, _, _):
            guard let type = path.aggregatedType else { preconditionFailure("an aggregate is of an attribute") }
            value = RelatedValue.aggregate(function, compiled, type: type)
        // The resolver refuses it outside predicates.
        case .countWhere: preconditionFailure("a SUBQUERY is in a predicate")
        }
        guard let value else { preconditionFailure("a count or an aggregate is of a to-many step") }
        return value
    }

    mutating func take(columns: [PropertyPath]) throws(StoreError) {
        for column in columns {
            let path = try self.resolve(column)
            guard !(column.steps.isEmpty && column.leaf == .object) else {
                throw StoreError.refused(.invalid, "a column must be a property; a row's own id is always sent")
            }
            self.related.append(self.value(path))
        }
        self.columnCount = self.related.count
    }

    /// Takes the totals, after the columns and before the sort keys.
    mutating func take(totals: [FetchTotal]) throws(StoreError) {
        for total in totals {
            guard case .function(let function, let asked) = total else {
                self.totals.append(.count)
                continue
            }
            let path = try self.resolve(asked)
            let type: AttributeType
            switch path.type {
            case .attribute(let attribute): type = attribute
            case .count: type = .integer
            case .object:
                throw StoreError.refused(.invalid, "\(path.text) is an object: a total is of an attribute or a count")
            }
            guard function.type(of: type) != nil else {
                throw StoreError.refused(.invalid, "\(path.text) is \(type): \(function.name) is for numbers")
            }
            let value = self.value(path)
            let column = self.related.firstIndex(of: value) ?? self.related.count
            if column == self.related.count { self.related.append(value) }
            self.totals.append(.function(function, column: column, type))
        }
        self.columnCount = self.related.count
    }

    // MARK: Sort descriptors

    mutating func take(_ sort: [OrderingTerm]) throws(StoreError) {
        self.terms = try sort.map { (term) throws(StoreError) in try self.term(term, isAlone: sort.count == 1) }
    }

    private mutating func term(_ descriptor: OrderingTerm, isAlone: Bool) throws(StoreError) -> SortTerm {
        guard case .path(let asked) = descriptor.key else {
            throw StoreError.refused(.unsupported, "order cannot be combined with other sort keys")
        }
        let path = try self.resolve(asked)
        let form: OrderTerm.Form
        var isDate = false
        // The relationship may be null.
        let isOptional = !asked.steps.isEmpty
        switch path.type {
        case .object:
            throw StoreError.refused(
                .unsupported,
                "\(path.text) is an object: sort by one of its attributes, or by a count"
            )
        case .count:
            form = OrderTerm.Form(.integer, isOptional: isOptional, isAlone: isAlone)
        case .attribute(let type):
            guard !type.isLarge else {
                throw StoreError.refused(
                    .unsupported,
                    "\(path.text) is \(type): it is outside the rows and has no order"
                )
            }
            isDate = type == .date
            var mayBeNull = isOptional
            switch asked.leaf {
            case .attribute(let property) where !isOptional:
                mayBeNull = self.entity.attribute(property)?.isOptional ?? true
            case .aggregate(let function, _, _):
                mayBeNull = isOptional || function.isOptional
            default:
                break
            }
            form = OrderTerm.Form(type, isOptional: mayBeNull, isAlone: isAlone)
        }
        guard descriptor.folding.isEmpty || form == .text else {
            throw StoreError.refused(.invalid, "\(path.text) is \(path.type.description): [c] and [d] are for text")
        }
        return SortTerm(
            self.operand(path),
            OrderTerm(form, isAscending: descriptor.isAscending, folding: descriptor.folding, isDate: isDate)
        )
    }

    private mutating func operand(_ path: ResolvedPath) -> SortTerm.Operand {
        let value = self.value(path)
        if case .path(let path) = value, path.isOwn, case .slot(let slot) = path.leaf { return .slot(slot) }
        if let index = self.related.firstIndex(of: value) { return .related(index) }
        self.related.append(value)
        return .related(self.related.count - 1)
    }

    // MARK: The order of a relationship

    /// `isFiltered`: the relationship may lead to objects of other entities too.
    typealias OrderedMembership = (membership: ResultSource.Membership, isFiltered: Bool)

    func checkAlone(_ request: ObjectFetchRequest) throws(StoreError) {
        guard let first = request.sort.first, first.isAscending, first.folding.isEmpty, request.sort.count == 1 else {
            throw StoreError.refused(.unsupported, "order must be the only sort key, and ascending")
        }
        guard request.section == nil else {
            throw StoreError.refused(.invalid, "sections need an attribute to sort by, not the order of a relationship")
        }
    }

    /// Finds a comparison such as `parent == X` in the outermost AND. Returns the objects that it selects, in their
    /// order, and the rest of the predicate.
    func membership(by predicate: FetchPredicate) throws(StoreError) -> (found: OrderedMembership, rest: FetchPredicate)
    {
        guard let layout = self.layout[self.entity.number] else { preconditionFailure("an entity has a table") }
        let found = predicate.removing { comparison -> OrderedMembership? in
            guard comparison.quantifier == .one, comparison.operator == .equal, comparison.path.leaf == .object,
                comparison.path.steps.count == 1, case .reference(let owner) = comparison.values[0],
                let slot = layout.slot(of: comparison.path.steps[0]), layout.placeOfSlot[slot] >= 0,
                case .toOne(let relationship, _) = layout.slots[slot],
                let toMany = self.layout[relationship.destination]?.toMany(relationship.inverse)
            else { return nil }
            return (
                .owned(slot: slot, place: layout.placeOfSlot[slot], owner: owner),
                toMany.destination != self.entity.number
            )
        }
        guard let found else {
            throw StoreError.refused(
                .invalid,
                "order needs one ordered list: the objects of a relationship, or a predicate like parent == 1"
            )
        }
        return (found.value, found.rest)
    }

    // MARK: Sections

    /// Compiles the key of the sections. It must be a function of the first sort key, so that sections follow the order
    /// by construction.
    func section(_ key: SectionKey, _ sort: [OrderingTerm]) throws(StoreError) -> SectionKey.Function {
        let path = try self.resolve(key.path)
        let name = key.text(of: self.entity, in: self.model)
        guard let first = sort.first, case .path(let sorted) = first.key else {
            throw StoreError.refused(.invalid, "sections by \(name) need rows sorted by \(path.text) first")
        }
        guard sorted == key.path else {
            let other = sorted.text(of: self.entity, in: self.model)
            throw StoreError.refused(
                .invalid,
                "sections by \(name) need rows sorted by \(path.text) first, not by \(other)"
            )
        }
        let functions: [SectionKey.Function]
        switch path.type {
        case .attribute(let type): functions = Sectioning.functions(of: type)
        case .count: functions = [.value]
        case .object: functions = []
        }
        guard functions.contains(key.function) else {
            let names = functions.map { $0 == .value ? path.text : "\($0.name)(\(path.text))" }
            throw StoreError.refused(
                .invalid,
                "there are no sections by \(name): \(path.text) is \(path.type.description)"
                    + (names.isEmpty ? "" : "; possible are \(names.joined(separator: ", "))")
            )
        }
        return key.function
    }
}
