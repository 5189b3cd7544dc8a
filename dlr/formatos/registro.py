"""Os formatos que o Lastro conhece, um por linha. Não há descoberta automática: está aqui, existe."""

from dlr.formatos import (
    africastalking,
    bandwidth,
    bulksms,
    infobip,
    jasmin,
    kannel,
    padrao,
    plivo,
    sinch,
    smpp,
    smsdev,
    telnyx,
    twilio,
    vonage,
    zenvia,
)
from dlr.formatos.contrato import Formato

FORMATOS: tuple[Formato, ...] = (
    padrao.FORMATO,
    smpp.FORMATO,
    kannel.FORMATO,
    jasmin.FORMATO,
    twilio.FORMATO,
    vonage.FORMATO,
    infobip.FORMATO,
    sinch.FORMATO,
    zenvia.FORMATO,
    plivo.FORMATO,
    telnyx.FORMATO,
    bandwidth.FORMATO,
    bulksms.FORMATO,
    africastalking.FORMATO,
    smsdev.FORMATO,
)
POR_SLUG = {formato.slug: formato for formato in FORMATOS}
