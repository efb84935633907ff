import NestEngine
import NestModel
import NestOverlay

/// Changes of what a client follows.
extension OptimisticClient {
    /// Asks for another request of a subscription.
    func change(_ old: ObjectFetchRequest, to new: ObjectFetchRequest) -> EngineInput? {
        guard self.client.subscriptions[new] == nil, self.foldsUnderWay[self.number(of: old)] == nil,
            let input = self.client.change(old, to: new)
        else { return nil }
        self.changes[old] = new
        self.isDisturbed = true
        self.count(old.outline == nil ? "changed lists" : "changed outlines")
        return input
    }

    /// Folds and unfolds rows of an outline. They are laid out so at once, as far as that is known.
    func fold(_ request: ObjectFetchRequest, _ states: [ExpandedState], _ what: String) -> EngineInput? {
        let id = self.number(of: request)
        guard let view = self.client.subscriptions[request]?.view, self.foldsUnderWay[id] == nil,
            self.changes[request] == nil, self.bases[id] != nil
        else { return nil }
        let (number, input) = self.client.request(.setExpanded(view: view, states))
        self.foldsUnderWay[id] = (number, states)
        self.set(states, of: id, request)
        self.isDisturbed = true
        self.count("folds")
        self.publish(what)
        return input
    }

    private func set(_ states: [ExpandedState], of id: OptimisticViews.ID, _ request: ObjectFetchRequest) {
        guard var outline = self.folds[id] ?? request.outline else { return }
        var exceptions = Set(outline.exceptions)
        for state in states {
            if state.isExpanded == (outline.expansion == .all) {
                exceptions.remove(state.object)
            } else {
                exceptions.insert(state.object)
            }
        }
        outline.exceptions = exceptions.sorted()
        self.folds[id] = outline
        guard let base = self.bases[id] else { return }
        let view = OverlayView(request: self.asked(request, id), state: base.state)
        self.bases[id] = view
        self.views.folded(id, view)
        self.trace?.state(id, view.request, view.state)
    }

    /// The server has answered a request to fold.
    func folded(_ id: OptimisticViews.ID, isRefused: Bool) {
        self.isDisturbed = true
        guard let (_, states) = self.foldsUnderWay.removeValue(forKey: id), isRefused,
            let request = self.numbers.first(where: { $0.value == id })?.key
        else { return }
        self.count("folds refused")
        self.set(states.map { ExpandedState($0.object, isExpanded: !$0.isExpanded) }, of: id, request)
    }

    /// The request with the fold states that the outline is to have.
    func asked(_ request: ObjectFetchRequest, _ id: OptimisticViews.ID) -> ObjectFetchRequest {
        guard request.outline != nil, let outline = self.folds[id] else { return request }
        var request = request
        request.outline = outline
        return request
    }
}
