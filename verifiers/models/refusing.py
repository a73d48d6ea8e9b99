"""Whose fault a refused question is: the endpoint's, or the text's that a completion has a say in.

An endpoint that refuses a text (too long for its model, caught by a filter) is well, and no reward at all would be
worth more to the completion than a wrong answer. One that refuses everything is out of order.
"""

from assay.verifiers.models.interface import Line, Reply, Request, TextRefused


class Blamed(Exception):
    """The endpoint refuses this text and answers another; the message says how."""


def ask(line: Line, name: str, request: Request, control: Request) -> Reply:
    """Return the reply. Raises Blamed where only what sets `request` apart from `control` can be why there is none.

    That is: it is refused, `control` is answered, and it is refused again. Raises EndpointFault otherwise.
    """
    try:
        return line.ask(name, request)
    except TextRefused:
        line.ask(name, control)
    try:
        return line.ask(name, request)
    except TextRefused as error:
        raise Blamed(f"{error}, though it answers other texts") from error
