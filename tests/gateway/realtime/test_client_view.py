"""What a client sees of a session, without a socket."""

from gateway.realtime.client_view import ClientView
from gateway.realtime.tool_offer import ToolOffer


def test_what_was_hidden_in_a_lost_session_hides_nothing_in_the_next() -> None:
    """A new session of the model may count its items from the beginning."""
    view = ClientView(ToolOffer(None))
    event = {"type": "conversation.item.added", "item": {"id": "item_1"}, "previous_item_id": None}
    view.hide_item("item_1")
    assert view.event(event) == []
    view.connection_lost()
    assert view.event(event) == [event]
