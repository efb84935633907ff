import NestModel
import NestStore
import NestSchema

/// Performs one transaction or import in the graph, and describes it for the journal.
struct RequestRunner {
    let store: Store
    let scopes: TokenScopes
    /// Resolves a place by index with a live tree, if there is one.
    let resolvePlace: (WriteTransaction, _ isChanged: (ObjectID) -> Bool) throws(StoreError) -> WriteTransaction

    /// `entry`: the undo entry that the request joins. `groupName`: the name of its undo group. `isChanged`: whether
    /// the batch has changed an owner before.
    func run(
        _ request: WriteRequest,
        _ graph: ObjectGraph,
        entry: Revision?,
        groupName: String?,
        isChanged: (ObjectID) -> Bool
    ) throws(StoreError) -> WriteDescription {
        let description = graph.description
        description.begin(
            name: groupName ?? "",
            key: request.key,
            requestHash: request.requestHash,
            sessionNumber: request.session,
            entry: entry,
            user: request.user
        )
        graph.preparation = request.preparation
        graph.sessionNumber = request.session
        let confinement = try request.scope.confinement(self.store, self.scopes)
        switch request.operation {
        case .transaction:
            // Its parts are read one by one: a copy of the whole would retain each of them.
            var preconditions = request.transaction.preconditions
            if let confinement {
                try confinement.check(request.transaction)
                try self.store.check(preconditions, confinement)
                preconditions = []
            }
            if request.traits.contains(.namesIndex) {
                let resolved = try self.resolvePlace(request.transaction, isChanged)
                description.results = try graph.perform(resolved.mutations, if: preconditions)
            } else {
                description.results = try graph.perform(request.transaction.mutations, if: preconditions)
            }
            if groupName == nil {
                if let name = request.transaction.name {
                    description.name = name
                } else {
                    description.name = try graph.defaultName(of: request.transaction.mutations)
                }
            }
        case .importSubtree(let staged):
            try confinement?.check(staged.request)
            let (first, count, label) = try graph.importSubtree(staged)
            guard let layout = self.store.layout[staged.request.entity] else {
                throw StoreError.refused(
                    .unknownEntity,
                    "the model has no entity number \(staged.request.entity.rawValue)"
                )
            }
            description.results = [Receipt.Run(first: first, count: count)]
            guard groupName == nil else { break }
            let kind = layout.kind(staged.request.entity)
            description.name = staged.request.name ?? ObjectGraph.nameOfImport(kind, label: label, count: count)
        case .takeBack, .beginGroup, .endGroup:
            preconditionFailure("an undo or a group is not run as a transaction")
        }
        return description
    }
}
